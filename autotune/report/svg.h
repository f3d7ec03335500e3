// Inline SVG, element by element. What it gives is well-formed XML, whatever the texts hold.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

// For text and attributes of HTML and XML. Control characters, which XML cannot hold, become U+FFFD.
std::string escaped(std::string_view text);

enum class Anchor { start, middle, end };

// Lengths are in units of the view box, which is as wide as the page at most. `classes` are of the page's style sheet.
class Svg {
 public:
  // `title` is what readers of screens say of the whole drawing.
  Svg(double width, double height, std::string_view title);

  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void text(double x, double y, Anchor anchor, std::string_view classes, std::string_view text);

  // Marks stand for data: each has a title, which browsers show when it is pointed at.
  void bar(double x, double y, double width, double height, std::string_view classes, std::string_view title);
  void dot(double x, double y, double radius, std::string_view classes, std::string_view title);

  std::string finished() const;

 private:
  std::string text_;
};

}  // namespace wkvc
