#include "codegen/emit/Identifiers.h"

#include <llvm/ADT/StringExtras.h>

#include "codegen/rec/Names.h"
#include "runtime/base/embedded.h"

namespace wkvc {

namespace {

bool is_identifier(char c) { return llvm::isAlnum(c) || c == '_'; }

// What templates/ declare: functions, types and macros. A variable of the same name would hide them. Found by what
// stands before and behind a name; parameters of templates are none of them.
llvm::StringSet<> declared_in(llvm::StringRef text) {
  llvm::StringSet<> names;
  llvm::StringRef before;
  while (true) {
    text = text.drop_until(is_identifier);
    if (text.empty()) return names;
    llvm::StringRef name = text.take_while(is_identifier);
    text = text.drop_front(name.size());
    char next = text.ltrim().empty() ? ' ' : text.ltrim().front();
    bool type = (before == "struct" || before == "class") && llvm::is_contained({'{', ':', ';', '<'}, next);
    if (type || before == "using" || before == "namespace" || before == "define" || text.starts_with("(") ||
        text.starts_with("<"))
      names.insert(name);
    before = name;
  }
}

const llvm::StringSet<>& template_names() {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> all;
    for (const EmbeddedHeader& header : embedded_headers())
      for (const auto& name : declared_in(header.text)) all.insert(name.getKey());
    return all;
  }();
  return names;
}

// Macros of the C library, which the host target includes.
bool may_be_macro(llvm::StringRef name) {
  return name.size() > 2 && llvm::all_of(name, [](char c) { return llvm::isUpper(c) || c == '_'; });
}

}  // namespace

std::string Identifiers::unique(llvm::StringRef wish) {
  std::string name;
  for (char c : wish) name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || !llvm::isAlpha(name[0])) name = "t" + name;
  // A name that C++, CUDA or templates/ use ("do", "exp") gets an underscore.
  if (rec::name_fault(name) || template_names().contains(name) || may_be_macro(name)) name += "_";
  std::string candidate = name;
  for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = name + "_" + std::to_string(i);
  if (!blocks_.empty()) blocks_.back().push_back(candidate);
  return candidate;
}

NamesOfBlock::~NamesOfBlock() {
  for (const std::string& name : names_.blocks_.back()) names_.taken_.erase(name);
  names_.blocks_.pop_back();
}

const std::string& Identifiers::declare_everywhere(mlir::Value value, llvm::StringRef wish) {
  const std::string& name = declare(value, wish);
  if (!blocks_.empty()) blocks_.back().pop_back();
  return name;
}

const std::string& Identifiers::declare(mlir::Value value, llvm::StringRef wish) {
  return names_[value] = unique(wish);
}

}  // namespace wkvc
