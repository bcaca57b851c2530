#include "client/cli/run/job_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

class JobOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    read_fd_ = fds[0];
    options_.stdout_fd = fds[1];
    std::string path = testing::TempDir() + "/outXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override {
    close(options_.stdout_fd);
    if (read_fd_ >= 0) close(read_fd_);
  }

  std::string Written() {
    char text[4096];
    const ssize_t n = read(read_fd_, text, sizeof text);
    return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
  }
  std::string File(const std::string& path) {
    const auto content = ReadFile(directory_ + path, 1 << 20);
    return content.ok() ? *content : content.status().message();
  }

  JobOutputOptions options_;
  int read_fd_ = -1;
  std::string directory_;
};

TEST_F(JobOutputTest, TagsLines) {
  options_.tag = true;
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-12-7", 2).ok());
  EXPECT_TRUE(output.Write(0, 1, kStdoutChannel, "a\nb\n"));
  EXPECT_EQ(Written(), "[7,1]<stdout>: a\n[7,1]<stdout>: b\n");
}

TEST_F(JobOutputTest, AlsoWritesAFileForEachRank) {
  options_.directory = directory_ + "/d";
  options_.tag = true;
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 2).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "zero\n"));
  EXPECT_TRUE(output.Write(0, 1, kStdoutChannel, "one"));
  EXPECT_TRUE(output.Write(0, 1, kStdoutChannel, ""));
  EXPECT_EQ(File("/d/job-1/rank.0/stdout"), "zero\n");
  EXPECT_EQ(File("/d/job-1/rank.1/stdout"), "one");
  EXPECT_EQ(output.trouble(), "");
  EXPECT_EQ(Written(), "[1,0]<stdout>: zero\n[1,1]<stdout>: one");
}

TEST_F(JobOutputTest, FailsIfTheDirectoryCannotBeCreated) {
  ASSERT_TRUE(MakeFile(directory_ + "/file", "").ok());
  options_.directory = directory_ + "/file";
  JobOutput output(options_);
  EXPECT_FALSE(output.SetJob("job-1", 2).ok());
}

TEST_F(JobOutputTest, WriteReturnsFalseIfTheReaderIsGone) {
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 2).ok());
  close(std::exchange(read_fd_, -1));
  EXPECT_FALSE(output.Write(0, 0, kStdoutChannel, "text\n"));
  EXPECT_FALSE(output.Write(0, 0, kStdoutChannel, "more\n"));
  EXPECT_EQ(output.trouble(), "");
}

TEST_F(JobOutputTest, ReportsTheReasonOfAFailedWrite) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  options_.stderr_fd = full;
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 2).ok());
  EXPECT_FALSE(output.Write(0, 0, kStderrChannel, "text\n"));
  EXPECT_EQ(output.trouble(),
            "cannot write standard error: No space left on device");
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "text\n"));
  close(full);
}

TEST_F(JobOutputTest, TheUnfinishedLineOfASingleProcessIsShownAtATick) {
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 1).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "prompt"));
  EXPECT_TRUE(output.wants_tick());
  EXPECT_GT(output.Tick(), 0);
  EXPECT_TRUE(output.Flush());
  EXPECT_EQ(Written(), "prompt");
  EXPECT_EQ(output.Tick(), -1);
}

TEST_F(JobOutputTest, UnfinishedLinesOfManyProcessesAreShownLater) {
  int64_t now = 5000;
  options_.now_ms = [&now] { return now; };
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 2).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "part"));
  EXPECT_TRUE(output.wants_tick());
  EXPECT_EQ(output.Tick(), 1000);
  now += 600;
  EXPECT_TRUE(output.Write(0, 1, kStdoutChannel, "whole\n"));
  EXPECT_EQ(output.Tick(), 400);
  EXPECT_EQ(Written(), "whole\n");
  now += 400;
  EXPECT_EQ(output.Tick(), -1);
  EXPECT_EQ(Written(), "part");
  EXPECT_FALSE(output.wants_tick());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, " and rest\n"));
  EXPECT_EQ(Written(), " and rest\n");
}

TEST_F(JobOutputTest, TheTimeSpentInAWriteDoesNotReleaseUnfinishedLines) {
  // Each reading of the clock is later than the previous one by `step`; the
  // clock is also read after a write.
  int64_t now = 5000;
  int64_t step = 0;
  options_.now_ms = [&] { return now += step; };
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("job-1", 2).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "part"));
  step = 5000;
  EXPECT_TRUE(output.Write(0, 1, kStdoutChannel, "slow\n"));
  step = 0;
  EXPECT_GT(output.Tick(), 0);
  EXPECT_EQ(Written(), "slow\n");
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, " and rest\n"));
  EXPECT_EQ(Written(), "part and rest\n");
}

TEST_F(JobOutputTest, SpawnedJobsHaveTheirOwnTagsAndFiles) {
  options_.directory = directory_ + "/d";
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-x-1", 1).ok());
  SpawnedOutputOptions spawned;
  spawned.tag = true;
  ASSERT_TRUE(output.AddJob(1, "canopy-x-2", {{spawned}, {}}).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "first\n"));
  EXPECT_TRUE(output.Write(1, 0, kStdoutChannel, "second\n"));
  output.EndJob(1);
  EXPECT_EQ(Written(), "first\n[2,0]<stdout>: second\n");
  EXPECT_EQ(File("/d/canopy-x-1/rank.0/stdout"), "first\n");
  EXPECT_EQ(File("/d/canopy-x-2/rank.0/stdout"), "second\n");
}

TEST_F(JobOutputTest, OutputOfASpawnedJobCanGoToNamedFiles) {
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-x-1", 1).ok());
  SpawnedOutputOptions spawned;
  spawned.file = directory_ + "/out";
  ASSERT_TRUE(output.AddJob(1, "canopy-x-2", {{spawned}, {}}).ok());
  EXPECT_TRUE(output.Write(1, 3, kStdoutChannel, "said\n"));
  EXPECT_TRUE(output.Write(1, 3, kStderrChannel, "warned\n"));
  output.EndJob(1);
  EXPECT_EQ(File("/out.canopy-x-2.3.stdout"), "said\n");
  EXPECT_EQ(File("/out.canopy-x-2.3.stderr"), "warned\n");
}

TEST_F(JobOutputTest, EachApplicationHasItsOwnFormOfOutput) {
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-x-1", 1).ok());
  SpawnedOutput spawned;
  spawned.options.resize(3);
  spawned.options[0].rank = true;
  spawned.options[1].xml = true;
  spawned.options[2].raw = true;
  spawned.of_rank = {0, 1, 1, 2};
  ASSERT_TRUE(output.AddJob(1, "canopy-x-2", spawned).ok());
  EXPECT_TRUE(output.Write(1, 0, kStdoutChannel, "a\n"));
  EXPECT_TRUE(output.Write(1, 2, kStdoutChannel, "b<\nc\n"));
  EXPECT_TRUE(output.Write(1, 3, kStdoutChannel, "part"));
  EXPECT_EQ(Written(),
            "[0]<stdout>: a\n"
            "<stdout nspace=\"canopy-x-2\" rank=\"2\">b&lt;</stdout>\n"
            "<stdout nspace=\"canopy-x-2\" rank=\"2\">c</stdout>\n"
            "part");
}

TEST_F(JobOutputTest, PartsOfLinesOfARawJobAreShownAsTheyArrive) {
  options_.raw = true;
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-x-1", 1).ok());
  EXPECT_TRUE(output.Write(0, 0, kStdoutChannel, "password: "));
  EXPECT_EQ(Written(), "password: ");
}

TEST_F(JobOutputTest, TheSpawnerDeterminesTheNamesOfFiles) {
  JobOutput output(options_);
  ASSERT_TRUE(output.SetJob("canopy-x-1", 1).ok());
  SpawnedOutput spawned;
  spawned.options.resize(2);
  spawned.options[0].shared_file = directory_ + "/both";
  spawned.options[0].only_files = true;
  spawned.options[1].file = directory_ + "/%r-of-%n";
  spawned.options[1].pattern = true;
  spawned.of_rank = {0, 1};
  ASSERT_TRUE(output.AddJob(1, "canopy-x-2", spawned).ok());
  EXPECT_TRUE(output.Write(1, 0, kStdoutChannel, "said\n"));
  EXPECT_TRUE(output.Write(1, 0, kStdoutChannel, ""));
  EXPECT_TRUE(output.Write(1, 0, kStderrChannel, "warned\n"));
  EXPECT_TRUE(output.Write(1, 1, kStdoutChannel, "shown\n"));
  output.EndJob(1);
  EXPECT_EQ(File("/both.0"), "said\nwarned\n");
  EXPECT_EQ(File("/1-of-canopy-x-2.stdout"), "shown\n");
  EXPECT_EQ(Written(), "shown\n");
}

}  // namespace
}  // namespace canopy::cli
