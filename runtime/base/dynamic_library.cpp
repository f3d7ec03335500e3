#include "runtime/base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
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

}  // namespace

std::filesystem::path own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored);
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
