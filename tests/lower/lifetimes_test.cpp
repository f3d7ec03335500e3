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

// Reads a text of warp kernels line by line. Barriers in a kernel's loop end phases, the first one the copies'.
class Reader {
 public:
  std::string read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read_line(line);
    return faults_;
  }

 private:
  void read_line(const std::string& line) {
    static const std::regex declaration(R"(%(\w+) = warp\.(buffer|floats) .*live (\d+) to (\d+))");
    if (line.starts_with("warp.kernel")) lives_.clear(), phase_ = -1, in_loop_ = false;
    if (line.find("warp.loop") != std::string::npos) in_loop_ = true;
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
  int phase_ = -1;
  bool in_loop_ = false;
  std::string faults_;
};

class Lifetimes : public testing::TestWithParam<Definition> {};

TEST_P(Lifetimes, HoldEveryUse) {
  for (const char* mma : {"f16", "bf16", "f32"}) {
    Config config;
    config.mma = mma;
    config.pass = "both";
    const std::string warp = lower_to(source_from(rec_text(GetParam(), config)), Stage::warp, config);
    EXPECT_EQ(Reader().read(warp), "") << mma;
  }
}

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Lifetimes, testing::ValuesIn(recurrences()), name_of_definition);

}  // namespace
}  // namespace test
}  // namespace wkvc
