#include "autotune/report/svg.h"

#include <fmt/format.h>

#include <array>

namespace wkvc {
namespace {

constexpr std::array<std::string_view, 3> anchors{"start", "middle", "end"};

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const std::string_view replacement = is_control(c) ? "\xef\xbf\xbd" : entity(c);
    if (replacement.empty()) {
      result += c;
    } else {
      result += replacement;
    }
  }
  return result;
}

Svg::Svg(double width, double height, std::string_view title)
    : text_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\">\n"
                        "<title>{}</title>\n",
                        width, height, escaped(title))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  text_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                       escaped(classes));
}

void Svg::text(double x, double y, Anchor anchor, std::string_view classes, std::string_view text) {
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                       anchors[static_cast<std::size_t>(anchor)], escaped(classes), escaped(text));
}

void Svg::bar(double x, double y, double width, double height, std::string_view classes, std::string_view title) {
  text_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"mark {}\"><title>{}</title></rect>\n",
      x, y, width, height, escaped(classes), escaped(title));
}

void Svg::dot(double x, double y, double radius, std::string_view classes, std::string_view title) {
  text_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"mark {}\"><title>{}</title></circle>\n", x,
                  y, radius, escaped(classes), escaped(title));
}

std::string Svg::finished() const { return text_ + "</svg>\n"; }

}  // namespace wkvc
