#include "runtime/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

#include "runtime/error.h"

namespace wkvc {

DynamicLibrary DynamicLibrary::open(const std::string& path, std::string* why_not) {
  DynamicLibrary library;
  library.path_ = path;
  library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) *why_not = ::dlerror();
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
  if (address == nullptr) internal_error("{} has no symbol {}", path_, name);
  return address;
}

}  // namespace wkvc
