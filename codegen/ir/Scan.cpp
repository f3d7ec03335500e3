#include "codegen/ir/Scan.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "runtime/error.h"

namespace wkvc {

namespace {

constexpr std::size_t kMaxNesting = 64;

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_$.-").find(c) != std::string_view::npos;
}

class Scan {
 public:
  Scan(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  void run() {
    while (at_ < text_.size())
      if (!skip_quotation()) step();
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    std::string what = fmt::format(format, std::forward<Args>(args)...);
    if (!file_.empty()) user_error("{}:{}: {}", file_, line, what);
    user_error("this text is not a stage wkvc can read: line {}: {}", line, what);
  }

  // Strings and comments.
  bool skip_quotation() {
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (here() != '"') return false;
    for (++at_; at_ < text_.size() && here() != '"'; ++at_) at_ += here() == '\\';
    ++at_;
    return true;
  }

  void step() {
    char c = text_[at_++];
    if (c == '%') return value();
    if (c == '^') return block();
    if (c == '-' && here() == '>') ++at_;
    if (std::string_view("([{<").find(c) != std::string_view::npos) open();
    if (std::string_view(")]}>").find(c) != std::string_view::npos) close();
  }

  void open() {
    scopes_.emplace_back();
    if (scopes_.size() > kMaxNesting) fail("it nests more than {} deep", kMaxNesting);
  }

  void close() {
    // What the brackets of a block's arguments define belongs to the block.
    std::set<std::string_view> defined = std::move(scopes_.back());
    if (scopes_.size() > 1) scopes_.pop_back();
    if (scopes_.size() != arguments_) return;
    scopes_.back().merge(defined);
    arguments_ = 0;
  }

  std::string_view name() {
    std::size_t first = at_;
    while (is_name(here())) ++at_;
    return text_.substr(first, at_ - first);
  }

  // The ":2" of "%pair:2 = ".
  void count_of_results() {
    const auto is_digit = [&](std::size_t at) { return at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; };
    if (here() != ':' || !is_digit(at_ + 1)) return;
    for (++at_; is_digit(at_);) ++at_;
  }

  // The label of a block; its arguments follow in brackets.
  void block() {
    name();
    arguments_ = here() == '(' ? scopes_.size() : 0;
  }

  void value() {
    std::string_view used = name();
    count_of_results();
    std::size_t next = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    bool defines = text_.substr(next, 1) == "=" || (arguments_ && scopes_.size() == arguments_ + 1);
    if (defines)
      scopes_.back().insert(used);
    else if (std::none_of(scopes_.begin(), scopes_.end(), [&](const auto& scope) { return scope.contains(used); }))
      fail("the value %{} is used before it is defined", used);
  }

  std::string_view text_, file_;
  std::size_t at_ = 0;
  std::vector<std::set<std::string_view>> scopes_{1};  // a scope for each open bracket
  std::size_t arguments_ = 0;                          // inside the brackets of a block's arguments: scopes around them
};

}  // namespace

void check_parsable(std::string_view text, std::string_view file) { Scan(text, file).run(); }

}  // namespace wkvc
