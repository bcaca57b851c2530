#include "client/cli/run/loader_errors.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(LoaderErrorsTest, RecognizesMessagesOfLoaders) {
  EXPECT_TRUE(HasLoaderError(
      "./a: symbol lookup error: libopen-pal.so.80: undefined symbol: x\n"));
  EXPECT_TRUE(HasLoaderError(
      "./a: error while loading shared libraries: liba.so: cannot open shared "
      "object file: No such file or directory\n"));
  EXPECT_TRUE(HasLoaderError("Error relocating /a: x: symbol not found\n"));
  EXPECT_TRUE(HasLoaderError(
      "ImportError: /usr/lib/libmpi.so.40: undefined symbol: pmix_names\n"));
  EXPECT_FALSE(HasLoaderError("error: 127 symbols\n"));
  EXPECT_FALSE(HasLoaderError(""));
}

}  // namespace
}  // namespace canopy::cli
