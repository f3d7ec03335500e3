// A shared library opened at run time. Internal to the runtime.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/error.h"

namespace wkvc {

// The file with this code: the command, libwkvc.so or the user's program. Empty where the loader does not know.
std::filesystem::path own_file();

// A library lacks a function.
class MissingSymbol : public InternalError {
 public:
  using InternalError::InternalError;
};

class DynamicLibrary {
 public:
  // Empty, with the reason in `why_not`, when it cannot be opened.
  static DynamicLibrary open(const std::string& path, std::string* why_not);

  DynamicLibrary() = default;
  ~DynamicLibrary();
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }

  std::string file() const;  // where the loader found it

  // Sets `function` to the named symbol; throws MissingSymbol.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace wkvc
