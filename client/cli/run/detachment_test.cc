#include "client/cli/run/detachment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

// Runs a launcher that reports `name`, or no name if it is empty, and exits
// with `code`.
int LaunchAndAwait(const OutputFile& output, const std::string& name,
                   int code) {
  Result<Detachment> both = Detach(output);
  if (!both.ok()) return -1;
  if (both->is_launcher) {
    (void)WriteAll(STDERR_FILENO, "it said so\n");
    (void)WriteAll(both->name.get(), name);
    _exit(code);
  }
  return AwaitName(output, *both, /*json=*/false);
}

TEST(DetachmentTest, TheCallerPrintsTheNameOrTheLaunchersErrors) {
  const std::string path = testing::TempDir() + "/detachment-%j";
  const Result<OutputFile> output = OutputFile::Make(path);
  ASSERT_TRUE(output.ok());
  testing::internal::CaptureStdout();
  EXPECT_EQ(LaunchAndAwait(*output, "job-1\n", 0), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "job-1\n");
  EXPECT_EQ(access(output->path().c_str(), F_OK), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(LaunchAndAwait(*output, "", 7), 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "it said so\nit said so\n");
  EXPECT_NE(access(output->path().c_str(), F_OK), 0);
}

}  // namespace
}  // namespace canopy::cli
