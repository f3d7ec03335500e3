#include "runtime/base/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "runtime/base/files.h"
#include "runtime/base/reason.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

bool is_standard(const fs::path& path) { return path == "-"; }

fs::file_type type_of(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type();
}

bool is_among_descriptors(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(path.parent_path(), ignored);
  return folder.filename() == "fd" && folder.string().starts_with("/proc/");
}

// A descriptor of the process, such as /dev/stdout or /dev/fd/3. Renaming a file over its name would replace the name.
bool is_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return is_among_descriptors(path) || (!error && is_among_descriptors(target));
}

// An open file of this process, closed at destruction unless it is a standard one.
class Stream {
 public:
  Stream(const fs::path& path, int standard, int flags)
      : descriptor_(is_standard(path) ? standard : ::open(path.c_str(), flags | O_CLOEXEC)),
        owned_(!is_standard(path)) {}
  ~Stream() {
    if (owned_ && descriptor_ >= 0) ::close(descriptor_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  ssize_t read(std::span<char> into) const { return ::read(descriptor_, into.data(), into.size()); }
  ssize_t write(std::string_view piece) const {
    return ::write(descriptor_, piece.data(), std::min<std::size_t>(piece.size(), 1U << 30));
  }

 private:
  int descriptor_;
  bool owned_;
};

[[noreturn]] void fail_to_read(const fs::path& path) {
  user_error("{}: cannot be read: {}", name_of_input(path), reason(errno));
}

[[noreturn]] void fail_to_write(const fs::path& path) {
  if (is_standard(path)) user_error("the standard output cannot be written: {}", reason(errno));
  user_error("cannot write {}: {}", path.string(), reason(errno));
}

void write_all(const Stream& stream, std::string_view piece, const fs::path& path) {
  while (!piece.empty()) {
    const ssize_t written = stream.write(piece);
    if (written < 0 && errno != EINTR) fail_to_write(path);
    piece.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

}  // namespace

bool is_pipe(const fs::path& path) { return is_standard(path) || type_of(path) == fs::file_type::fifo; }

bool is_sink(const fs::path& path) {
  return is_pipe(path) || type_of(path) == fs::file_type::character || is_descriptor(path);
}

bool is_standard_output(const fs::path& path) {
  std::error_code missing;
  return is_standard(path) || (is_sink(path) && fs::equivalent(path, "/dev/stdout", missing));
}

std::string name_of_input(const fs::path& path) { return is_standard(path) ? "<stdin>" : path.string(); }

std::string read_pipe(const fs::path& path, std::size_t most) {
  const Stream stream(path, STDIN_FILENO, O_RDONLY);
  if (!stream.is_open()) fail_to_read(path);
  std::string bytes;
  std::array<char, 1 << 16> piece{};
  while (bytes.size() <= most) {
    const ssize_t count = stream.read(piece);
    if (count == 0) break;
    if (count < 0 && errno != EINTR) fail_to_read(path);
    bytes.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return bytes;
}

void write_output(const fs::path& path, std::span<const std::string_view> pieces) {
  if (!is_sink(path)) return write_file_atomically(path, pieces);
  if (is_standard(path)) std::fflush(stdout);
  const Stream stream(path, STDOUT_FILENO, O_WRONLY | O_APPEND);
  if (!stream.is_open()) fail_to_write(path);
  for (const std::string_view piece : pieces) write_all(stream, piece, path);
}

}  // namespace wkvc
