#include "tests/emitted/hashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "runtime/base/hash.h"

namespace wkvc::test {

void for_each_text(const std::vector<EmittedCase>& cases,
                   const std::function<void(const EmittedCase&, const std::string&)>& f) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) f(cases[i], emitted_text(cases[i]));
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::jthread& thread : threads) thread = std::jthread(work);
}

Hashes hashes_of(const std::vector<EmittedCase>& cases) {
  Hashes hashes;
  std::mutex lock;
  for_each_text(cases, [&](const EmittedCase& of, const std::string& text) {
    const std::scoped_lock held(lock);
    hashes[of.name] = hex_hash(text).substr(0, 16);
  });
  return hashes;
}

Hashes read_hashes(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " can't be read");
  Hashes hashes;
  for (std::string hash, name; file >> hash && std::getline(file >> std::ws, name);) hashes[name] = hash;
  return hashes;
}

void write_hashes(const std::string& path, const Hashes& hashes) {
  std::ofstream file(path);
  for (const auto& [name, hash] : hashes) file << hash << ' ' << name << '\n';
  if (!file.flush()) throw std::runtime_error(path + " can't be written");
}

std::vector<std::string> changes(const Hashes& kept, const Hashes& made) {
  std::vector<std::string> lines;
  for (const auto& [name, hash] : made) {
    const auto before = kept.find(name);
    if (before == kept.end())
      lines.push_back("new:     " + name);
    else if (before->second != hash)
      lines.push_back("changed: " + name);
  }
  for (const auto& [name, hash] : kept)
    if (!made.contains(name)) lines.push_back("gone:    " + name);
  return lines;
}

}  // namespace wkvc::test
