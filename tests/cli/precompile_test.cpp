// wkvc precompile: files that calls find their kernels in.
#include "runtime/cache/precompiled.h"

#include "runtime/cache/cubin_cache.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

void skip_without_nvrtc() {
  std::string why_not;
  if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
}

class Precompile : public CommandTest {
 protected:
  std::size_t files() const {
    const std::filesystem::directory_iterator all(directory());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  // Whether the folder has the only kernel of what `emit` prints with such options.
  bool has_kernel_of(std::vector<std::string> options, bool sequences) {
    options.insert(options.begin(), {"emit", "rwkv6", "--stage", "cuda"});
    const std::string text = wkvc(options).out;
    const std::vector<Manifest> manifests = manifests_from(text);
    NvrtcOptions variant = usual_options(manifests, manifests.front());
    if (sequences) variant = variant_options(manifests.front(), /*aligned=*/true, sequences);
    return PrecompiledKernels(directory()).find(text, manifests.front(), variant, nvrtc_version()).has_value();
  }
};

TEST_F(Precompile, WritesTheKernelsThatCallsTake) {
  if (skip_without_nvrtc(); IsSkipped()) return;
  const std::vector<std::string> options{"--chunk", "1", "--head", "16"};
  const Outcome outcome = wkvc({"precompile", "rwkv6", "--chunk", "1", "--head", "16", "-o", "."});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "2 kernels of 1 text in .\n");
  EXPECT_EQ(files(), 2U);
  EXPECT_TRUE(has_kernel_of(options, false));
  EXPECT_TRUE(has_kernel_of(options, true));
  EXPECT_FALSE(has_kernel_of({"--chunk", "1", "--head", "32"}, false));
}

// Texts that several sizes share are compiled once.
TEST_F(Precompile, TakesSeveralSizes) {
  if (skip_without_nvrtc(); IsSkipped()) return;
  const Outcome outcome = wkvc(
      {"precompile", "rwkv6", "--head", "16", "--teams", "1", "--shapes", "1,64,1", "1,128,2", "8,256,64", "-o", "."});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "1 kernel of 1 text in .\n");
}

}  // namespace
}  // namespace wkvc::test
