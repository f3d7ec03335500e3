// Mistakes on the command line: each is one clear message and exit status 2, and nothing is written.
#include <cstdlib>

#include "runtime/version.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Mistakes = CommandTest;

TEST_F(Mistakes, Commands) {
  expect_mistake({}, "no command given");
  expect_mistake({"compile"}, "unknown command 'compile'");
  expect_mistake({"list", "rwkv77"}, "did you mean 'rwkv7'?");
  expect_mistake({"check"}, "no operator given");
  expect_mistake({"emit", "--stage", "rec"}, "no operator given");
}

TEST_F(Mistakes, OptionsThatThereAreNot) {
  expect_mistake({"check", "rwkv7", "--segment", "3"},
                 "there is no option '--segment'; did you mean '--segments'? See wkvc check --help");
  expect_mistake({"--versio"}, "there is no option '--versio'; did you mean '--version'? See wkvc --help");
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "--zzzzzz=3"}, "there is no option '--zzzzzz'; see wkvc emit");
  expect_mistake({"check", "rwkv7", "rwkv6", "more"}, "'rwkv6' is one argument too many");
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "--teams", "3", "--teams", "2"},
                 "--teams was given 2 times; expected once");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--saved-bytes", "x"}, "--saved-bytes x: expected a number");
}

TEST_F(Mistakes, NoneInAskingForTheVersion) {
  const Outcome outcome = wkvc({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "wkvc " + std::string(wkvc_version()) + "\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Mistakes, OptionsOfRecurrences) {
  expect_mistake({"emit", "rwkv7", "--stage", "rec", "--set", "scal=2"}, "did you mean 'scale'?");
  expect_mistake({"emit", "rwkv7", "--stage", "rec", "--set", "scale"}, "--set scale: expected NAME=VALUE");
  expect_mistake({"emit", "rwkv7", "--stage", "rec", "--set", "scale=1,scale=2"}, "'scale' is set twice");
  const Outcome text = wkvc({"emit", "rwkv7", "--stage", "rec"});
  expect_mistake({"emit", "--source", file("rwkv7.mlir", text.out), "--stage", "rec", "--set", "scale=2"}, "--set");
}

TEST_F(Mistakes, NoneInAskingForOptions) {
  const Outcome outcome = wkvc({"list", "rwkv7_logw"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("--set decay=log"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("a promise that no log decay is below it"), std::string::npos) << outcome.out;
}

TEST_F(Mistakes, Operators) {
  expect_mistake({"check", "rwkv8"}, "rwkv8");
  expect_mistake({"emit", "rvkw7", "--stage", "cuda", "-o", "kernel.cu"}, "rwkv7");  // the closest one
  expect_mistake({"explain", ""}, "''");
  expect_mistake({"bench", std::string(10000, 'x'), "--shape", "1,16,1"}, "rwkv7");
  expect_mistake({"emit", "rwkv7\n", "--stage", "rec"}, "rwkv7");
}

TEST_F(Mistakes, Options) {
  expect_mistake({"check", "rwkv7", "--fast"}, "--fast");
  expect_mistake({"check", "rwkv7", "--io"}, "--io");
  expect_mistake({"check", "rwkv7", "--io", "bf16", "--io", "f16"}, "--io");
  expect_mistake({"check", "rwkv7", "rwkv6"}, "rwkv6");
  expect_mistake({"emit", "rwkv7"}, "--stage");
  expect_mistake({"bench", "rwkv7"}, "--shape");
  expect_mistake({"run", "rwkv7", "--output", "out.safetensors"}, "--input");
  expect_mistake({"run", "rwkv7", "--input", activations}, "--output");
}

TEST_F(Mistakes, Dtypes) {
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--io", "f64"}, "f16 or bf16 or f32");
  expect_mistake({"check", "rwkv7", "--io", ""}, "--io");
  expect_mistake({"check", "rwkv7", "--io", "BF16"}, "BF16");
  expect_mistake({"check", "rwkv7", "--mma", "int8"}, "f16 or bf16 or bf16x3 or f32");
  expect_mistake({"check", "rwkv7", "--state", "f64"}, "f16 or bf16 or f32");
  expect_mistake({"check", "rwkv7", "--state-layout", "kk"}, "vk or kv");
  expect_mistake({"check", "rwkv7", "--shared", "r,x"}, "'rwkv7' has no input 'x'; there are r, w, k, a, b, v");
}

TEST_F(Mistakes, Stages) {
  expect_mistake({"emit", "rwkv7", "--stage", "sass"}, "rec, chunk, placed, warp, cuda, ptx, cubin");
  expect_mistake({"emit", "rwkv7", "--stage", "sass", "-o", "kernel"}, "sass");
  expect_mistake({"emit", "rwkv7", "--stage", "rec", "--after", "x"}, "--after");
  expect_mistake({"emit", "rwkv7", "--after", "no-such-pass"}, "no-such-pass");
  expect_mistake({"emit", "--source", naive_kernel, "--stage", "chunk"}, "later stage");
  expect_mistake({"emit", "--source", naive_kernel, "--stage", "cuda", "--pass", "both"},
                 "holds forward kernels alone");
}

TEST_F(Mistakes, Heads) {
  for (const char* head :
       {"17", "0", "-64", "64,", ",64", "64,64,64", "64.0", "0x40", "sixty", "", "99999999999999999999"})
    expect_mistake({"check", "rwkv7", "--head", head}, "--head");
  expect_mistake({"check", "rwkv7", "--head", "1048576"}, "1048576");
  expect_mistake({"check", "rwkv7", "--head", "272"}, "a multiple of 16 from 16 to 256");
  expect_mistake({"check", "rwkv7", "--head", "64,512", "--teams", "1"}, "--parts 2");
  for (const char* head : {"4294967360", "64,528", "64,99999999999999999984"})
    expect_mistake({"check", "rwkv7", "--head", head}, "a multiple of 16, K from 16 to 256, V from 16 to 512");
}

TEST_F(Mistakes, Chunks) {
  for (const char* chunk : {"0", "-16", "17", "16.5", "automatic", "", "18446744073709551616"})
    expect_mistake({"check", "rwkv7", "--chunk", chunk}, "--chunk");
}

TEST_F(Mistakes, DistancesOfSavedStates) {
  for (const char* tokens : {"0", "-16", "17", "1048592", "9223372036854775792", "99999999999999999984", ""})
    expect_mistake({"check", "rwkv7", "--pass", "both", "--save-every", tokens}, "from 16 to 1048576");
}

TEST_F(Mistakes, Budgets) {
  for (const char* sram : {"0", "-1", "-227KiB", "228KiB", "232449", "1GiB", "227kB", "227 parsecs", "KiB", "",
                           "0.2MiB", "1MiB", "9223372036854775807KiB", "9223372036854775808"})
    expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--sram", sram}, "--sram");
}

TEST_F(Mistakes, BlocksOfAMultiprocessor) {
  for (const char* blocks : {"0", "-1", "33", "2,", "2,0", "1,2,3", "two", ""})
    expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--blocks", blocks}, "--blocks");
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--blocks", "17"}, "at most");
  expect_mistake({"emit", "rwkv7", "--pass", "both", "--stage", "cuda", "-o", "kernel.cu", "--blocks", "2,16"},
                 "blocks of the backward kernel");
}

TEST_F(Mistakes, OptionsOfChunksForSingleTokens) {
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "k.cu", "--chunk", "1", "--mma", "bf16"},
                 "--chunk 1 with --mma bf16: kernels of single tokens compute in f32");
  expect_mistake({"check", "rwkv7", "--chunk", "1", "--sram", "1KiB"}, "--chunk 1 with --sram");
  expect_mistake({"check", "rwkv7", "--chunk", "1", "--cluster", "2"}, "--chunk 1 with --cluster");
}

TEST_F(Mistakes, EmptyNamesOfFiles) {
  expect_mistake({"check", "--source", ""}, "--source '': expected the name of a file");
  expect_mistake({"check", "rwkv7", "--input", ""}, "has an empty name");
  expect_mistake({"run", "rwkv7", "--input", activations, "--output", ""}, "has an empty name");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--lockfile", ""}, "has an empty name");
}

TEST_F(Mistakes, Architectures) {
  for (const char* arch : {"sm_80", "sm_90", "compute_90a", "hopper", ""})
    expect_mistake({"emit", "rwkv7", "--stage", "ptx", "--arch", arch}, "sm_90a");
}

TEST_F(Mistakes, Shapes) {
  for (const char* shape : {"1,100", "1,100,2,64", "-1,100,2", "1,-1,2", "1,100,2x", "1;100;2", "", ",,", "1, 100, 2",
                            "9223372036854775808,1,1"})
    expect_mistake({"check", "rwkv7", "--shape", shape}, "--shape");
  expect_mistake({"explain", "rwkv7", "--shape", "1,0,2"}, "'0' is not a size from 1 to 2^63 - 1");
}

TEST_F(Mistakes, SizesThatOverflow) {
  expect_mistake({"check", "rwkv7", "--shape", "9223372036854775807,2,1"}, "63 bits");
  expect_mistake({"check", "rwkv7", "--shape", "1,9223372036854775807,1"}, "63 bits");
  expect_mistake({"check", "rwkv7", "--shape", "65536,1048576,1048576"}, "63 bits");
  expect_mistake({"check", "rwkv7", "--shape", "1,1000000000000,1", "--device", "cpu"}, "memory");
  expect_mistake({"explain", "rwkv7", "--shape", "1,9223372036854775807,1"}, "63 bits");
}

TEST_F(Mistakes, SeedsAndDevices) {
  expect_mistake({"check", "rwkv7", "--seed", "-1"}, "--seed");
  expect_mistake({"check", "rwkv7", "--seed", "18446744073709551616"}, "--seed");
  expect_mistake({"check", "rwkv7", "--device", "tpu"}, "cpu, cuda");
  expect_mistake({"check", "rwkv7", "--input", activations, "--shape", "1,100,2"}, "--shape");
  expect_mistake({"check", "rwkv7", "--input", activations, "--seed", "1"}, "--seed");
}

TEST_F(Mistakes, TextOfAnotherOperator) {
  for (const char* stage : {"rec", "chunk", "warp", "cuda"}) {
    const std::string text = file(stage, wkvc({"emit", "rwkv7", "--stage", stage}).out);
    const std::string named = "recurrence 'rwkv7', and the operator named is 'rwkv6'";
    expect_mistake({"check", "rwkv6", "--source", text}, named);
    expect_mistake({"emit", "rwkv6", "--source", text, "--stage", "cuda"}, named);
    EXPECT_EQ(wkvc({"emit", "rwkv7", "--source", text, "--stage", "cuda"}).status, 0) << stage;
  }
}

TEST_F(Mistakes, BenchWithoutAGpu) {
  const Outcome outcome = wkvc({"bench", "rwkv7", "--shape", "1,16,1"}, [] { setenv("CUDA_VISIBLE_DEVICES", "", 1); });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.err.starts_with("wkvc: bench needs a GPU: ")) << outcome.err;
  EXPECT_EQ(outcome.err.find("--device"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("host target"), std::string::npos) << outcome.err;
}

TEST_F(Mistakes, Packing) {
  expect_mistake({"pack", "rwkv8", "--name", "k"}, "'rwkv8'");
  expect_mistake({"pack", "rwkv7", "--name", "while"}, "--name");
  expect_mistake({"pack", "rwkv7", "--name", "k*/"}, "--name");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--head", "64"}, "--heads 64");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--pass", "both"}, "--passes");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--passes", "sideways"}, "forward, backward");
  expect_mistake({"pack", "rwkv7", "rwkv7", "--name", "k"}, "rwkv7_bf16_64 is asked for twice");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--heads", "65"}, "--heads 65: expected K[,V]");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--lockfile", "none.json"}, "none.json");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--lockfile", naive_kernel}, "naive_rwkv7.cu");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--output", "/nowhere"}, "'/nowhere': there is no such folder");
  expect_mistake({"pack", "rwkv7", "--name", "k", "--output", naive_kernel}, "there is no such folder");
  const auto precompile = [&](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"precompile", "rwkv7"});
    expect_mistake(more, part);
  };
  precompile({}, "--output is required");
  precompile({"-o", "/nowhere"}, "'/nowhere': there is no such folder; make it first");
  precompile({"-o", "/tmp", "--pass", "both"}, "--passes forward,both");
  precompile({"-o", "/tmp", "--passes", "backward"}, "expected forward, both");
  precompile({"-o", "/tmp", "--shapes", "8,4096"}, "--shapes 8,4096: expected batch, tokens and heads");
  precompile({"-o", "/tmp", "--sequences", "0"}, "--sequences 0: expected a whole number from 1");
}

TEST_F(Mistakes, Tuning) {
  for (const char* budget : {"0s", "-1s", "soon", "1h", "", "99999min"})
    expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "--budget", budget}, "--budget");
  expect_mistake({"tune", "rwkv7"}, "--shapes");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,16"}, "--shapes 1,16: expected batch, tokens and heads");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "1,0,1"}, "--shapes 1,0,1");
  for (const char* bytes : {"nan", "-1", "0", "inf"}) {
    expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "--saved-bytes", bytes},
                   "expected a number of bytes above 0");
  }
  expect_mistake({"tune", "rwkv8", "--shapes", "1,16,1"}, "'rwkv8'");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "-o", "/nowhere/lock.json"}, "/nowhere");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "--chunk", "240"}, "no configuration has kernels");
  expect_mistake({"fit", "rwkv8"}, "'rwkv8'");
  expect_mistake({"fit", "rwkv7", "--heads", "65"}, "--heads 65: expected K[,V]");
  expect_mistake({"fit", "rwkv7", "--heads", "32", "32"}, "--heads 32 is given twice");
}

// Under any name, and whether it is there or not.
TEST_F(Mistakes, ReportsThatWouldReplaceAnotherFile) {
  const std::string lockfile = file("lock.json", "precious"), journal = lockfile + ".journal";
  const std::filesystem::path folder = directory().parent_path(), link = folder / "link";
  std::filesystem::create_symlink(lockfile, link);
  const auto expect_refused = [&](const std::string& output, const std::string& report, const std::string& what) {
    expect_mistake({"tune", "rwkv7", "--shapes", "1,16,1", "-o", output, "--report", report},
                   "--report " + report + ": that is " + what);
  };
  const std::string of_lockfile = "where the lockfile is written, too: give it a name of its own";
  for (const std::string& report : {lockfile, link.string(), std::string("../lock.json")}) {
    expect_refused(lockfile, report, of_lockfile);
  }
  EXPECT_EQ(contents_of(lockfile), "precious");
  expect_refused("new.json", "./new.json", of_lockfile);
  expect_refused("../new.json", folder / "new.json", of_lockfile);
  for (const std::string& report : {journal, std::string("../lock.json.journal")}) {
    expect_refused(lockfile, report, "where the journal of an interrupted run is written, too");
  }
  const std::string source = file("step.mlir", wkvc({"emit", "rwkv7", "--stage", "rec"}).out);
  expect_mistake({"tune", "--source", source, "--shapes", "1,16,1", "--report", source},
                 "that is the file that is read");
  expect_mistake({"tune", "--source", source, "--shapes", "1,16,1", "-o", source}, "that is the file " + source);
}

TEST_F(Mistakes, TextThatHasSettledAnOption) {
  expect_mistake({"check", "--source", naive_kernel, "--mma", "f16"}, "--mma");
  expect_mistake({"check", "--source", naive_kernel, "--head", "64", "--sram", "64KiB"}, "--head, --sram");
  expect_mistake({"check", "--source", naive_kernel, "--blocks", "2"}, "--blocks");
}

// ---- What the compiler refuses --------------------------------------------------------------------------------------

TEST_F(Mistakes, ChunkThatDoesNotFit) {
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--chunk", "4096"}, "4096");
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--sram", "1KiB"}, "1024");
}

TEST_F(Mistakes, HeadThatIsNotSupported) {
  expect_mistake({"emit", "rwkv7", "--stage", "cuda", "-o", "kernel.cu", "--head", "65536"}, "65536");
}

}  // namespace
}  // namespace wkvc::test
