#include "client/cli/run/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    std::filesystem::current_path(directory_);
  }
  bool IsThere(const std::string& name) const {
    return access((directory_ + "/" + name).c_str(), F_OK) == 0;
  }
  size_t NumFiles() const {
    const std::filesystem::directory_iterator files(directory_);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  std::string directory_ = testing::TempDir() + "/output-XXXXXX";
};

TEST_F(OutputFileTest, TheFileIsRenamedToTheNameOfTheJob) {
  Result<OutputFile> file = OutputFile::Make(kDefaultOutputFile);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(NumFiles(), 1u) << "the file is there before the job";
  ASSERT_TRUE(WriteAll(file->fd(), "text"));
  ASSERT_TRUE(file->SetJob("canopy-1-2").ok());
  EXPECT_TRUE(file->path().ends_with("/canopy-1-2.out"));
  ASSERT_TRUE(file->SetJob("canopy-1-3").ok());
  EXPECT_EQ(*ReadFile(directory_ + "/canopy-1-2.out", 100), "text");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(OutputFileTest, StaysInItsDirectoryAfterAChangeOfDirectory) {
  Result<OutputFile> file = OutputFile::Make("a-%j");
  std::filesystem::current_path("/");
  ASSERT_TRUE(file->SetJob("b/c").ok());
  EXPECT_TRUE(IsThere("a-b_c"));
}

TEST_F(OutputFileTest, AFileWithAFixedNameIsTruncatedAndNotRemoved) {
  std::ofstream(directory_ + "/log") << "old";
  Result<OutputFile> file = OutputFile::Make("log");
  ASSERT_TRUE(file->SetJob("job").ok());
  EXPECT_EQ(*ReadFile(directory_ + "/log", 100), "");
  file->Discard();
  EXPECT_TRUE(IsThere("log"));
}

TEST_F(OutputFileTest, AFileThatCannotBeMadeIsAnError) {
  const Status status = OutputFile::Make("missing/%j").status();
  EXPECT_NE(status.message().find("missing/canopy-"), std::string::npos);
  EXPECT_NE(status.message().find("No such file"), std::string::npos);
  EXPECT_NE(status.message().find("--output file="), std::string::npos);
  EXPECT_FALSE(OutputFile::Check("missing/%r").ok());
}

TEST_F(OutputFileTest, CheckLeavesOnlyAFileThatTheJobWillUse) {
  EXPECT_TRUE(OutputFile::Check("%j.%r").ok());
  EXPECT_EQ(NumFiles(), 0u);
  EXPECT_TRUE(OutputFile::Check("log.%r").ok());
  EXPECT_TRUE(IsThere("log.0"));
}

}  // namespace
}  // namespace canopy::cli
