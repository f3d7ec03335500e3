// The table of a configuration's fields, one option a row. Options, checks, keys, labels, lockfiles, --help and
// README's table follow from the table: a new option is a member of Config and a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc {

// Numbers of 64 bits are bytes, which an option takes with a unit, too.
using ConfigMember =
    std::variant<int Config::*, std::int64_t Config::*, std::string Config::*, std::vector<std::string> Config::*>;

struct ConfigField {
  const char* name;  // in JSON and keys: save_every
  ConfigMember member;
};

struct Numbers {
  bool (*hold)(std::int64_t);
  std::string_view expected;  // such numbers, in words
};

struct Words {
  std::span<const std::string_view> known;
};

struct InputNames {
  bool all = true;  // the word is for all of them
};

// Options of a recurrence, "name=value" each; the recurrence knows its names and values (dsl/options.h).
struct Assignments {};

// The kernels that an option says something of. `each`: N of the forward kernel, M of the backward kernel.
enum class OfKernels { all, forward, backward, each };

// How lockfiles have an option: not at all, for people to read, or as a setting to take over.
enum class Recorded { no, shown, tuned };

struct ConfigOption {
  const char* spelling;                              // --teams
  const char* syntax;                                // N[,M]
  ConfigField field;                                 // K, or N
  std::optional<ConfigField> second = std::nullopt;  // V, or M
  std::variant<Numbers, Words, InputNames, Assignments> values;
  bool automatic = false;      // the value may be auto
  std::string_view otherwise;  // what holds without the option
  std::string_view meaning;
  std::optional<Stage> settled = std::nullopt;  // the first stage whose text has settled the option
  OfKernels of = OfKernels::all;
  bool follows = false;    // an M that nothing sets is N
  bool of_chunks = false;  // a kernel of single tokens (--chunk 1) has no use for the option
  Recorded recorded = Recorded::no;
  bool apart = false;  // of tuned options: a value that is given stays, and the other settings are chosen beside it
  bool makes_room = false;  // a larger number leaves a block less to hold
};

// In the order in which JSON has the fields, which the seals of lockfiles depend on. --pass comes before every option
// that has an M.
std::span<const ConfigOption> config_options();

const ConfigOption& config_option(std::string_view spelling);  // throws InternalError for a spelling of no option

// Calls f(option, field) for every field of the table.
template <class F>
void for_each_field(const F& f) {
  for (const ConfigOption& option : config_options()) {
    f(option, option.field);
    if (option.second) f(option, *option.second);
  }
}

bool is_of_backward(const ConfigOption& option, const ConfigField& field);  // nothing to a forward pass

std::string text_of(const ConfigField& field, const Config& config);  // "64", "f16", "r,k"; empty for 0
bool is_set(const ConfigField& field, const Config& config);          // not the value of Config{}
bool is_set(const ConfigOption& option, const Config& config);        // any of its fields
void copy_field(const ConfigField& field, const Config& from, Config& to);

// The values of an option for people: "1 to 15, or auto", "f16 or bf16 or f32". Words come between quotes.
std::string values_text(const ConfigOption& option, std::string_view quote = "");

// Every field that is set, "chunk 16, scales guarded": equal for equal configurations only.
std::string config_key(const Config& config);

}  // namespace wkvc
