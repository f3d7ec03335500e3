#include "runtime/base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include "runtime/base/files.h"

namespace wkvc {
namespace {

// The bytes of an ELF file that name its class, byte order and machine; empty for another file.
std::string machine_of(const std::string& path) {
  std::array<char, 20> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(header.data(), header.size()) || !std::string_view(header.data(), 4).ends_with("ELF")) return {};
  return {header[4], header[5], header[18], header[19]};
}

// The loader's reason, which calls a library of another machine a file that is not there.
std::string loader_reason(const std::string& path) {
  std::string reason = ::dlerror();
  const std::string machine = machine_of(path);
  if (machine.empty() || machine == machine_of("/proc/self/exe")) return reason;
  return path + ": built for another kind of processor";
}

// The file of a line of /proc/self/maps, "55d0-55d4 r-xp 0000 08:01 42 /usr/bin/wkvc", where it holds the address.
std::string mapped_there(std::string_view line, std::uintptr_t address) {
  const char* const last = line.data() + line.size();
  std::uintptr_t begin = 0, end = 0;
  const char* const dash = std::from_chars(line.data(), line.data() + line.size(), begin, 16).ptr;
  if (dash == last || std::from_chars(dash + 1, last, end, 16).ec != std::errc{}) return {};
  const std::size_t path = line.find('/');
  return begin <= address && address < end && path != line.npos ? std::string(line.substr(path)) : "";
}

// The file with this code as the kernel has it: the loader's name may be relative to a folder that the process has
// left.
std::string mapped_at(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (std::string path = mapped_there(line, address); !path.empty()) return path;
  return {};
}

}  // namespace

std::filesystem::path own_file() {
  Dl_info info{};
  const auto* const own = reinterpret_cast<const void*>(&own_file);
  if (::dladdr(own, &info) == 0 || info.dli_fname == nullptr) return {};
  std::filesystem::path file = info.dli_fname;
  if (file.is_relative()) file = mapped_at(reinterpret_cast<std::uintptr_t>(own));
  std::error_code ignored;
  return std::filesystem::canonical(file, ignored);
}

DynamicLibrary DynamicLibrary::open(const std::string& path, std::string* why_not) {
  DynamicLibrary library;
  library.path_ = path;
  const bool searched = path.find('/') == std::string::npos;
  if (const std::string fault = searched ? "" : why_irregular(path); !fault.empty()) {
    *why_not = fmt::format("{} {}", path, fault);
    return library;
  }
  library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) *why_not = searched ? ::dlerror() : loader_reason(path);
  return library;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

std::string DynamicLibrary::file() const {
  const link_map* loaded = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&loaded)) != 0) {
    internal_error("{} is loaded from an unknown place: {}", path_, ::dlerror());
  }
  return loaded->l_name;
}

void* DynamicLibrary::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) throw MissingSymbol(fmt::format("{} has no function {}", file(), name));
  return address;
}

}  // namespace wkvc
