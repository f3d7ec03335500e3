#include "tests/lower/mutate.h"

#include <array>
#include <cctype>
#include <vector>

namespace wkvc::test {
namespace {

using Parts = std::vector<std::string>;

Parts lines_of(const std::string& text) {
  Parts lines(1);
  for (char c : text) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  return lines;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%'; }

// Words and what stands between them, one character each.
Parts words_of(const std::string& text) {
  Parts words;
  bool in_word = false;
  for (char c : text) {
    if (!in_word || !is_word(c)) words.emplace_back();
    words.back() += c;
    in_word = is_word(c);
  }
  return words;
}

std::string joined(const Parts& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::size_t index_into(const Parts& parts, std::mt19937& random) {
  return std::uniform_int_distribution<std::size_t>(0, parts.size() - 1)(random);
}

std::string hostile_number(std::mt19937& random) {
  constexpr std::array numbers = {"0",
                                  "-1",
                                  "1",
                                  "2",
                                  "15",
                                  "17",
                                  "33",
                                  "64",
                                  "4096",
                                  "-16",
                                  "4294967296",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "99999999999999999999",
                                  "1e38",
                                  "0x7FC00000",
                                  "0x7F800000",
                                  "?",
                                  "f16",
                                  "f64",
                                  "\"\""};
  return numbers[std::uniform_int_distribution<std::size_t>(0, numbers.size() - 1)(random)];
}

// Another word of the same kind: a value for a value, a number for a number.
std::size_t similar(const Parts& words, std::size_t i, std::mt19937& random) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::size_t j = index_into(words, random);
    const bool digits = std::isdigit(static_cast<unsigned char>(words[i][0])) != 0;
    if (words[j][0] == words[i][0] || (digits && std::isdigit(static_cast<unsigned char>(words[j][0])))) return j;
  }
  return i;
}

std::size_t word_in(const Parts& words, std::mt19937& random) {
  std::size_t i = index_into(words, random);
  while (!is_word(words[i][0])) i = index_into(words, random);
  return i;
}

void change_lines(Parts& lines, std::mt19937& random) {
  const std::size_t i = index_into(lines, random), j = index_into(lines, random);
  switch (random() % 4) {
    case 0:
      lines[i].clear();
      break;
    case 1:
      lines[i] += lines[i];
      break;
    case 2:
      std::swap(lines[i], lines[j]);
      break;
    default:
      lines[i] += lines[j];
  }
}

void change_words(Parts& words, std::mt19937& random) {
  const std::size_t i = word_in(words, random);
  switch (random() % 6) {
    case 0:
      words[i].clear();
      break;
    case 1:
      words[i] += " " + words[i];
      break;
    case 2:
      words[i] = hostile_number(random);
      break;
    case 3:
      words[index_into(words, random)].clear();
      break;
    default:
      words[i] = words[similar(words, i, random)];
  }
}

}  // namespace

std::string mutated(std::string text, std::mt19937& random) {
  for (unsigned changes = 1 + random() % 3; changes > 0 && text.size() > 1; --changes) {
    const bool whole_lines = random() % 3 == 0;
    Parts parts = whole_lines ? lines_of(text) : words_of(text);
    (whole_lines ? change_lines : change_words)(parts, random);
    text = joined(parts);
  }
  return text;
}

}  // namespace wkvc::test
