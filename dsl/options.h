// Options of a recurrence: what whoever asks for it may set, from C++, C, the command and Python alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/wkvc.h"

namespace wkvc {

// An option as the body of a recurrence declares it.
struct OptionInfo {
  std::string name;
  std::string values;  // in words: "raw or log", "a number from -1e+06 to 0"
  std::string value;   // what holds: what was set, or what the body has where nothing was
  std::string meaning;
  At at;
};

// Returns the options of a recurrence, in the order of its body, with the values that hold under a configuration.
// Throws UserError where the body is wrong, and for values that an option does not take.
std::vector<OptionInfo> options_of(const Definition& definition, const Config& config = {});

}  // namespace wkvc

namespace wkvc::detail {

// The values that a recurrence's body is run with, and the options that it declared.
class Options {
 public:
  Options() = default;
  // `of`: the name of the recurrence, for messages.
  Options(std::string of, OptionValues values) : of_(std::move(of)), values_(std::move(values)) {}

  // Declares an option. Returns its value where one was set, else null. Throws UserError for a name that is taken.
  const std::string* declare(OptionInfo info);

  // Throws UserError where the option is set and `holds` is false.
  void expect(std::string_view name, bool holds, std::string_view needed) const;
  const std::vector<OptionInfo>& declared() const { return declared_; }

  // Throws UserError for a value that the option does not take.
  [[noreturn]] void refuse(const OptionInfo& info, std::string_view value) const;

  // Throws UserError where a value was set that no option took.
  void expect_all_declared() const;

 private:
  std::string of_;
  OptionValues values_;
  std::vector<OptionInfo> declared_;
};

}  // namespace wkvc::detail
