// Recurrences by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/wkvc.h"

namespace wkvc {

class Registry {
 public:
  static Registry builtin();
  // Those of this process: the built-in ones and what the program adds, before other threads look for any.
  static Registry& known();

  void add(Definition definition);  // throws UserError where the name is taken
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const { return definitions_.contains(name); }
  const Definition& find(std::string_view name) const;  // throws UserError, with the closest name

 private:
  std::map<std::string, Definition, std::less<>> definitions_;
};

}  // namespace wkvc
