// The compiler as a library: from a recurrence or any stage's text to any later stage's text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dtype.h"

namespace wkvc {

// What the command line's options say; empty or 0 means: as the recurrence declares, or the compiler's choice.
struct Config {
  int key_dim = 0, value_dim = 0;  // --head K[,V], multiples of 16
  std::string io = {};             // --io: storage of inputs and outputs: bf16, f16, f32
  std::string mma = {};            // --mma: operands of contractions: f16, bf16, f32
  std::string state = {};          // --state: f32
  int chunk = 0;                   // --chunk: tokens a step, a multiple of 16, or 1; 0 = auto
  std::int64_t sram = 0;           // --sram: bytes of shared memory a block may use
  std::string arch = "sm_90a";     // --arch
  int blocks = 0;                  // --blocks: blocks a multiprocessor holds at once, forward kernel; 0 = auto
  int backward_blocks = 0;         // the same of the backward kernel
  int teams = 0;                   // --teams: of warps, a chunk each, in the forward kernel; 0 = auto
  int backward_teams = 0;          // the same of the backward kernel
  int rounds = 0;                  // --rounds: of teams' chunks at once, in the forward kernel: 1, or 2; 0 = auto
  int cluster = 0;                 // --cluster: blocks for each head, with 2 rounds: 1, 2, 4 or 8; 0 = auto
  int segments = 0;                // --segments: of a sequence, which run side by side; 0 = auto
  int backward_segments = 0;       // the same in the backward pass; 0: as many as in the forward pass
  std::string pass = "forward";    // --pass: forward, backward, or both (the forward pass that saves states before)
  int save_every = 0;              // --save-every: tokens between saved states, a multiple of the chunk; 0 = auto
  std::string saved = {};          // --saved: storage of saved states: f32, bf16, f16
  std::string scales = {};         // --scales: of f16 operands: always, or guarded: only where f16 has to have them
  std::vector<std::string> gradients = {};  // --grad: what to differentiate by, by name; empty: by everything
};

enum class Stage { rec, chunk, warp, cuda };  // the text stages, in order

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
};
// Tells the stage from the text itself; throws UserError if it is none.
Source source_from(std::string text);

// Whether the source becomes a kernel of single tokens (--chunk 1), which has no chunk stage and no warp stage.
bool is_token_kernel(const Source& source, const Config& config);

// Carries `source` to `target`; throws UserError for what the user can mend. `target` may not come before the source.
std::string lower_to(const Source& source, Stage target, const Config& config);

// The text after one pass, by name; throws UserError listing the passes if there is none of that name.
std::string dump_after(const Source& source, const std::string& pass_name, const Config& config);

// The emitted kernel's `explain` report as JSON: SRAM map with lifetimes, operand dtypes of every contraction, slices.
std::string explain_json(const Source& source, const Config& config);

}  // namespace wkvc
