// Shared buffers are touched only in the phases for which their bytes are theirs.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "tests/lower/recurrences.h"

namespace wkvc {

void PrintTo(const Definition& definition, std::ostream* stream);

namespace test {
namespace {

struct Life {
  int from, to;
};

// Reads a text of warp kernels line by line. The barriers in a loop over chunks end phases, the first one the copies'.
// The phases of a loop that recomputes states come after those of the loop backward, with one between them.
class Reader {
 public:
  std::string read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) count_phases(line);
    lines = std::istringstream(text);
    for (std::string line; std::getline(lines, line);) read_line(line);
    return faults_;
  }

 private:
  static bool begins_chunks(const std::string& line) {
    return line.find("warp.loop") != std::string::npos && line.find("\"groups\"") == std::string::npos;
  }
  static bool goes_backward(const std::string& line) { return line.find(" backward") != std::string::npos; }

  void count_phases(const std::string& line) {
    if (begins_chunks(line)) counting_ = goes_backward(line), phases_ = counting_ ? 0 : phases_;
    if (line.find("warp.yield") != std::string::npos) counting_ = false;
    if (counting_ && line.find("warp.barrier") != std::string::npos) ++phases_;
  }

  void read_line(const std::string& line) {
    static const std::regex declaration(R"(%(\w+) = warp\.(buffer|floats|staged) .*live (\d+) to (\d+))");
    if (line.starts_with("warp.kernel")) lives_.clear();
    if (begins_chunks(line)) {
      bool recomputes = line.find("\"group\"") != std::string::npos && !goes_backward(line);
      phase_ = recomputes ? phases_ : -1;
      in_loop_ = true;
    }
    if (line.find("warp.yield") != std::string::npos) in_loop_ = false;
    if (line.find("warp.barrier") != std::string::npos) ++phase_;
    if (std::smatch match; std::regex_search(line, match, declaration))
      lives_[match[1]] = {std::stoi(match[3]), std::stoi(match[4])};
    else if (in_loop_ && line.find("publish_max") == std::string::npos)  // before the first phase, for all of them
      check_uses(line);
  }

  void check_uses(const std::string& line) {
    static const std::regex use(R"(%(\w+))");
    for (std::sregex_iterator match(line.begin(), line.end(), use), end; match != end; ++match) {
      const auto life = lives_.find((*match)[1]);
      if (life == lives_.end() || (life->second.from <= phase_ && phase_ <= life->second.to)) continue;
      faults_ += "phase " + std::to_string(phase_) + ", but live " + std::to_string(life->second.from) + " to " +
                 std::to_string(life->second.to) + ": " + line + "\n";
    }
  }

  std::map<std::string, Life> lives_;
  int phase_ = -1, phases_ = 0;
  bool counting_ = false;
  bool in_loop_ = false;
  std::string faults_;
};

class Lifetimes : public testing::TestWithParam<Definition> {};

TEST_P(Lifetimes, HoldEveryUse) {
  for (const char* mma : {"f16", "bf16", "f32"}) {
    Config config;
    config.mma = mma;
    config.pass = "both";
    // Factors of every level in f32, of two rank-one terms: heads of 32 do not fit.
    if (config.mma == "f32") config.key_dim = config.value_dim = 16;
    const std::string warp = lower_to(source_from(rec_text(GetParam(), config)), Stage::warp, config);
    EXPECT_EQ(Reader().read(warp), "") << mma;
  }
}

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Lifetimes, testing::ValuesIn(recurrences()), name_of_definition);

}  // namespace
}  // namespace test
}  // namespace wkvc
