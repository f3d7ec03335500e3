#include "runtime/cache/precompiled.h"

#include <cstdlib>

#include "tests/runtime/cache/cache_test.h"
#include "tests/runtime/tiny_program.h"

namespace wkvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Precompiled : public CacheTest {
 protected:
  std::optional<CubinResult> found(const NvrtcOptions& options, std::string_view driver = "13.0") const {
    return folder.find(source, manifest, options, driver);
  }
  std::filesystem::path only_file() const { return *std::filesystem::directory_iterator(parent.path()); }

  PrecompiledKernels folder{parent.path()};
  std::string source = tiny_program();
  Manifest manifest = manifests_from(source).front();
  CubinResult result{{'c', 'u', '\0', 'b'}, "ptxas info"};
};

TEST_F(Precompiled, AreFoundForWhatTheyWereCompiledFrom) {
  EXPECT_FALSE(found({.aligned = true}));
  folder.store(source, manifest, {.aligned = true}, result, "13.0");
  const auto kernel = found({.aligned = true});
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->cubin, result.cubin);
  EXPECT_EQ(kernel->log, result.log);
  EXPECT_FALSE(found({}));
  EXPECT_FALSE(found({.aligned = true, .sequences = true}));
  EXPECT_FALSE(found({.only_kernel = manifest.kernel, .aligned = true}));
  EXPECT_FALSE(folder.find(source + "\n", manifest, {.aligned = true}, "13.0"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Precompiled, NeedADriverOfTheirRelease) {
  folder.store(source, manifest, {}, result, "13.0");
  EXPECT_TRUE(found({}, "13.0"));
  EXPECT_TRUE(found({}, "14.2"));
  EXPECT_FALSE(found({}, "12.8"));
}

TEST_F(Precompiled, DamagedAreNone) {
  folder.store(source, manifest, {}, result, "13.0");
  std::filesystem::resize_file(only_file(), std::filesystem::file_size(only_file()) - 1);
  EXPECT_FALSE(found({}));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is not used")));
}

TEST_F(Precompiled, FoldersThatAreNotThereHaveNone) {
  EXPECT_FALSE(PrecompiledKernels(parent.path() / "none").find(source, manifest, {}, "13.0"));
  EXPECT_FALSE(PrecompiledKernels("").find(source, manifest, {}, "13.0"));
}

TEST_F(Precompiled, ComeFromTheFolderOfTheEnvironment) {
  folder.store(source, manifest, {}, result, "13.0");
  ::setenv("WKVC_KERNELS", parent.path().c_str(), 1);
  EXPECT_TRUE(PrecompiledKernels::from_environment().find(source, manifest, {}, "13.0"));
  ::setenv("WKVC_KERNELS", "", 1);
  EXPECT_FALSE(PrecompiledKernels::from_environment().find(source, manifest, {}, "13.0"));
  ::unsetenv("WKVC_KERNELS");
}

}  // namespace
}  // namespace wkvc
