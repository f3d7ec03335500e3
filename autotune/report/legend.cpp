#include "autotune/report/legend.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace wkvc {
namespace {

struct Key {
  std::string_view sign;  // in the drawing wherever there is such a mark; quotes and brackets that no text has
  std::string_view kind;  // its class in the style sheet
  std::string_view text;
};

// The winner is drawn as such where it is the default, too.
constexpr std::array<Key, 4> time_keys{{{">★ ", "winner", "★ winner"},
                                        {">★◆ ", "winner", "★◆ winner, which is the default, too"},
                                        {"class=\"mark default\"", "default", "◆ the default"},
                                        {"class=\"predicted\"", "predicted", "predicted by the model"}}};

constexpr std::array<Key, 4> error_keys{
    {time_keys[0], time_keys[1], time_keys[2], {"class=\"mark rejected\"", "rejected", "rejected"}}};

constexpr std::array<Key, 5> shade_keys{{{"class=\"mark shade0", "shade0", "the fastest fifth"},
                                         {"class=\"mark shade1", "shade1", ""},
                                         {"class=\"mark shade2", "shade2", ""},
                                         {"class=\"mark shade3", "shade3", ""},
                                         {"class=\"mark shade4", "shade4", ""}}};

constexpr std::array<Key, 3> memory_keys{{{"class=\"mark rejected", "rejected", "not timed"},
                                          {" ring-winner", "ring-winner", "★ winner"},
                                          {" ring-default", "ring-default", "◆ the default"}}};

bool has(std::string_view drawing, const Key& key) { return drawing.find(key.sign) != drawing.npos; }

std::string keys(std::string_view drawing, std::span<const Key> all) {
  std::string text;
  for (const Key& key : all) {
    if (has(drawing, key)) text += fmt::format("<span class=\"key {}\"></span>{} ", key.kind, key.text);
  }
  return text;
}

}  // namespace

std::string time_legend(std::string_view drawing) { return keys(drawing, time_keys); }

std::string error_legend(std::string_view drawing) { return keys(drawing, error_keys); }

std::string memory_legend(std::string_view drawing) {
  const std::span<const Key> shades(shade_keys);
  const std::string slower = keys(drawing, shades.subspan(1));
  return keys(drawing, shades.first(1)) + slower + (slower.empty() ? "" : "the slowest ") + keys(drawing, memory_keys) +
         "Marks of equal memory and blocks are moved apart.";
}

}  // namespace wkvc
