// The compiler as a library: from a recurrence or any stage's text to any later stage's text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/dtype.h"

namespace wkvc {

// Empty or 0 means: as the recurrence declares, or the compiler's choice. codegen/config/fields.cpp has a row for each
// field: its option, its values and its meaning.
struct Config {
  int key_dim = 0, value_dim = 0;
  std::string io = {};
  std::string mma = {};
  std::string state = {};
  std::string state_layout = {};
  int states_every = 0;
  int chunk = 0;
  std::int64_t sram = 0;
  std::string arch = "sm_90a";
  int blocks = 0, backward_blocks = 0;
  int teams = 0, backward_teams = 0;
  int rounds = 0;
  int cluster = 0;
  int parts = 0;
  int segments = 0, backward_segments = 0;
  std::string pass = "forward";
  int save_every = 0;
  std::string saved = {};
  std::string scales = {}, backward_scales = {};
  std::string form = {};
  std::vector<std::string> gradients = {};
  std::vector<std::string> shared = {};
  std::vector<std::string> set = {};  // options of the recurrence, each "name=value"
};

// The text stages, in order. Text of the stage placed is text of the stage chunk with places: which warps compute each
// value in which phase, and where the value is kept.
enum class Stage { rec, chunk, placed, warp, cuda };
inline constexpr std::array<std::string_view, 5> stage_names{"rec", "chunk", "placed", "warp", "cuda"};

// The line of a C++ recurrence.
struct WrittenAt {
  std::string file;
  int line = 0, column = 0;
};

// Text of one stage. A recurrence in C++ also tells where each line of its text was written: messages name that line.
struct Source {
  Stage stage;
  std::string text;
  std::vector<WrittenAt> lines = {};
  std::string file = "source";  // the name of the text in messages
};
// Tells the stage from the text itself; throws UserError if it is none.
Source source_from(std::string text);

// Says whether the source becomes a kernel of single tokens (--chunk 1), which has no chunk stage and no warp stage.
bool is_token_kernel(const Source& source, const Config& config);

// Returns whether a text holds a backward pass. A text of the rec stage holds none. Throws UserError as lower_to does.
bool has_backward(const Source& source);

// The options among those set that the text has settled already, by its stage or by what its programs hold: "--head".
std::vector<std::string> settled_options(const Source& source, const Config& config);
// Returns what a message says of settled options of such a text: which, and what to do.
std::string settled_message(Stage stage, const std::vector<std::string>& settled);

// Carries `source` to `target`; throws UserError for what the user can mend. `target` may not come before the source.
// A text of the stage warp is emitted as it is.
std::string lower_to(const Source& source, Stage target, const Config& config);

// The text after one pass, by name; throws UserError listing the passes if there is none of that name. Passes run from
// the first one that takes texts of the source's stage.
std::string dump_after(const Source& source, const std::string& pass_name, const Config& config);

// The emitted kernel's `explain` report as JSON: SRAM map with lifetimes, operand dtypes of every contraction, slices.
// A value that a text of a later stage doesn't say is null.
std::string explain_json(const Source& source, const Config& config);

// The schedule of each kernel as a nest of roles and loops, with what each of them copies, computes, stores and gives.
std::string explain_schedule(const Source& source, const Config& config);

}  // namespace wkvc
