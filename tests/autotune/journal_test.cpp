#include "autotune/lockfile/journal.h"

#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "runtime/base/files.h"
#include "runtime/base/hash.h"
#include "runtime/base/temporary_directory.h"
#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

TuningRun sample_run() {
  return {{sample_entry().shape_class}, hex_hash("rec"), hex_hash("space"), h200, "0.1.0", "13.0", "580.95.05", 7};
}

class Journals : public ::testing::Test {
 protected:
  // Of three candidates; gives its text.
  std::string written() {
    Journal journal(path_, sample_run());
    for (const int chunk : {16, 32, 48}) journal.append(sample_candidate(chunk, chunk));
    return contents();
  }
  std::string contents() const { return read_text(path_, "journal"); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  TemporaryDirectory directory_;
  fs::path path_ = directory_.path() / "journal";
};

TEST_F(Journals, GoOnWhereTheyWere) {
  const std::string text = written();
  Journal journal(path_, sample_run());
  ASSERT_EQ(journal.finished().size(), 3U);
  EXPECT_EQ(journal.finished()[1].ms, 32);
  ASSERT_NE(journal.find(settings(48, 48, "f16"), {8, 4096, 64}), nullptr);
  EXPECT_EQ(journal.find(settings(48, 48, "f16"), {8, 4096, 64})->ms, 48);
  EXPECT_EQ(journal.find(settings(48, 48, "f16"), {8, 4096, 1}), nullptr);
  EXPECT_EQ(journal.find(settings(48, 48), {8, 4096, 64}), nullptr);
  EXPECT_EQ(contents(), text);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST_F(Journals, TornAnywhereGoOnWithWholeLines) {
  const std::string text = written();
  for (std::size_t size = 0; size <= text.size(); ++size) {
    write(text.substr(0, size));
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.begin() + size, '\n'));
    {
      Journal journal(path_, sample_run());
      ASSERT_EQ(journal.finished().size(), lines == 0 ? 0 : lines - 1) << size;
      for (std::size_t next = journal.finished().size(); next < 3 && size % 31 == 0; ++next) {
        const int chunk = 16 * (static_cast<int>(next) + 1);
        journal.append(sample_candidate(chunk, chunk));
      }
    }
    if (size % 31 == 0) {
      ASSERT_EQ(contents(), text) << size;  // as if nothing had happened
    }
  }
}

TEST_F(Journals, OfAnotherRunAreRefused) {
  const std::string text = written();
  const auto refused = [&](void (*change)(TuningRun&), const std::vector<std::string>& parts) {
    TuningRun other = sample_run();
    change(other);
    expect_error([&] { Journal(path_, other); }, parts);
    EXPECT_EQ(contents(), text);
  };
  refused([](TuningRun& run) { run.gpu.name = "NVIDIA H100"; },
          {path_.string(), "another run", "\"gpu\"", "NVIDIA H200", "NVIDIA H100", "Remove it"});
  refused([](TuningRun& run) { run.shape_classes[0].size.tokens = 1; }, {"\"classes\""});
  refused([](TuningRun& run) { run.recurrence = hex_hash("x"); }, {"\"recurrence\""});
  refused([](TuningRun& run) { run.space = hex_hash("x"); }, {"\"space\""});
  refused([](TuningRun& run) { run.wkvc = "0.2.0"; }, {"\"wkvc\" is \"0.1.0\", this run's is \"0.2.0\""});
  refused([](TuningRun& run) { run.nvrtc = "12.8"; }, {"\"nvrtc\""});
  refused([](TuningRun& run) { run.driver = "1"; }, {"\"driver\""});
  refused([](TuningRun& run) { run.seed = 8; }, {"\"seed\" is 7"});
}

TEST_F(Journals, OtherFilesAreRefusedAndKept) {
  for (const std::string text : {"important", "important\nnotes\n", "{\"format\":1}\n", "{}", "\n"}) {
    write(text);
    expect_error([&] { Journal(path_, sample_run()); }, {"no journal of wkvc tune", "name another file"});
    EXPECT_EQ(contents(), text);
  }
  expect_error([&] { Journal(directory_.path(), sample_run()); }, {"no regular file", "directory"});
  expect_error([&] { Journal(directory_.path() / "none" / "x", sample_run()); }, {"cannot write", "No such file"});
}

TEST_F(Journals, DamagedLinesAreNamed) {
  const std::string text = written();
  std::string damaged = text;
  damaged[text.find("\"chunk\":32") + 9] = 'x';
  write(damaged);
  expect_error([&] { Journal(path_, sample_run()); }, {path_.string() + ": line 3", "not valid JSON"});
  damaged = text;
  damaged[text.find("\"chunk\":48") + 9] = '7';
  write(damaged);
  expect_error([&] { Journal(path_, sample_run()); }, {path_.string() + ": line 4's \"config\"", "\"chunk\" is 47"});
  EXPECT_EQ(contents(), damaged);
}

TEST_F(Journals, AreWrittenByOneRunAtATime) {
  const Journal journal(path_, sample_run());
  expect_error([&] { Journal(path_, sample_run()); }, {path_.string(), "another run", "wait"});
}

// A full disk, as far as a test can have one: files may not grow beyond a limit.
TEST_F(Journals, ThatCannotGrowStayWhole) {
  const std::string text = written();
  Journal journal(path_, sample_run());
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = text.size() + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error([&] { journal.append(sample_candidate(64)); }, {"cannot write", path_.string()});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_EQ(contents(), text);
  EXPECT_EQ(journal.finished().size(), 3U);
  journal.append(sample_candidate(64));
  EXPECT_TRUE(contents().starts_with(text));
}

}  // namespace
}  // namespace wkvc
