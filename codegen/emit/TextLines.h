// Lines of a text, indented as deep as the braces around them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace wkvc {

class TextLines {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }
  // Adds a call with each of the last arguments in a line of its own.
  void call(const std::string& start, const std::vector<std::string>& arguments);

  void open() { indent_ += 2; }  // behind a line that ends with a brace
  void close();                  // with a line that has the closing brace
  // With a line that has the closing brace, and opens a block again.
  void reopen(const std::string& line);

  const std::string& text() const { return text_; }

 private:
  void add(const std::string& line);

  std::string text_;
  int indent_ = 0;
};

}  // namespace wkvc
