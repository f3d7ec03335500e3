#include "codegen/emit/TextLines.h"

namespace wkvc {

void TextLines::add(const std::string& line) { text_ += std::string(indent_, ' ') + line + "\n"; }

void TextLines::call(const std::string& start, const std::vector<std::string>& arguments) {
  add(start);
  for (const std::string& argument : arguments) add("    " + argument + (&argument == &arguments.back() ? ");" : ","));
}

void TextLines::close() {
  indent_ -= 2;
  add("}");
}

void TextLines::reopen(const std::string& line) {
  indent_ -= 2;
  add(line);
  indent_ += 2;
}

}  // namespace wkvc
