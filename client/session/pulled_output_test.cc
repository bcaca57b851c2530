#include "client/session/pulled_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace canopy::client {
namespace {

const ProcId kSource{"job", 3};

class PulledOutputTest : public testing::Test {
 protected:
  PulledOutputTest() {
    char path[] = "/tmp/pulled_output.XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~PulledOutputTest() override { std::filesystem::remove_all(directory_); }

  std::string Read(const std::string& name) const {
    std::ifstream in(directory_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Collects the calls of the callback.
  OutputReceiver Receiver() {
    return [this](const ProcId&, uint16_t channel, std::string_view data,
                  bool closed) {
      got_.push_back(std::to_string(channel) + std::string(data) +
                     (closed ? "|" : ""));
    };
  }

  std::string directory_;
  std::vector<std::string> got_;
};

TEST_F(PulledOutputTest, ACallbackGetsBytesUnchanged) {
  PulledOutput output({}, Receiver());
  output.Add(kSource, 2, "one\ntw");
  output.Add(kSource, 4, "error");
  output.Add(kSource, 2, "");
  EXPECT_EQ(got_, (std::vector<std::string>{"2one\ntw", "4error", "2|"}));
}

TEST_F(PulledOutputTest, BufferingHoldsOutputUntilItsSizeIsReached) {
  PulledOutputOptions options;
  options.buffering_size = 5;
  PulledOutput output(options, Receiver());
  output.Add(kSource, 2, "abc");
  EXPECT_TRUE(got_.empty());
  output.Add(kSource, 2, "def");
  EXPECT_EQ(got_, (std::vector<std::string>{"2abcdef"}));
  output.Add(kSource, 2, "g");
  output.Flush();
  EXPECT_EQ(got_.back(), "2g");
  output.Add(kSource, 2, "h");
  output.Add(kSource, 2, "");
  EXPECT_EQ(got_.back(), "2h|");
}

TEST_F(PulledOutputTest, BufferingForATimeHoldsOutputUntilRelease) {
  PulledOutputOptions options;
  options.buffering_time_s = 5;
  PulledOutput output(options, Receiver());
  output.Add(kSource, 2, "abc");
  output.Add(kSource, 2, "def");
  EXPECT_TRUE(output.holds());
  EXPECT_TRUE(got_.empty());
  output.Release();
  EXPECT_EQ(got_, (std::vector<std::string>{"2abcdef"}));
  EXPECT_FALSE(output.holds());
  output.Add(kSource, 2, std::string(1 << 20, 'x'));
  EXPECT_EQ(got_.size(), 2u) << "a bounded amount";
}

TEST_F(PulledOutputTest, FilesAreNamedAsTheStandardRequires) {
  PulledOutputOptions options;
  options.file = directory_ + "/below/out";
  options.only_files = true;
  {
    PulledOutput output(options, nullptr);
    output.Add(kSource, 2, "one\n");
    output.Add(kSource, 4, "two\n");
  }
  EXPECT_EQ(Read("below/out.job.3.stdout"), "one\n");
  EXPECT_EQ(Read("below/out.job.3.stderr"), "two\n");
  options.file = directory_ + "/%n-%r-%n";
  options.pattern = true;
  options.merge = true;
  {
    PulledOutput output(options, nullptr);
    output.Add(kSource, 2, "one\n");
    output.Add(kSource, 4, "two\n");
  }
  EXPECT_EQ(Read("job-3-job.stdout"), "one\ntwo\n");
  PulledOutputOptions in_directory;
  in_directory.directory = directory_ + "/dir";
  {
    PulledOutput output(in_directory, Receiver());
    output.Add(kSource, 4, "two\n");
  }
  EXPECT_EQ(Read("dir/job/rank.3/stderr"), "two\n");
  EXPECT_EQ(got_, (std::vector<std::string>{"4two\n"}));
}

TEST_F(PulledOutputTest,
       WithoutACallbackWholeLinesAreWrittenToTheStandardStreams) {
  int out[2];
  int error[2];
  ASSERT_EQ(pipe(out), 0);
  ASSERT_EQ(pipe(error), 0);
  PulledOutputOptions options;
  options.stdout_fd = out[1];
  options.stderr_fd = error[1];
  PulledOutput output(options, nullptr);
  output.Add(kSource, 2, "one\ntw");
  output.Add(kSource, 4, "error\n");
  char text[64];
  EXPECT_EQ(
      std::string(text, static_cast<size_t>(read(out[0], text, sizeof text))),
      "one\n");
  EXPECT_EQ(
      std::string(text, static_cast<size_t>(read(error[0], text, sizeof text))),
      "error\n");
  output.Flush();
  EXPECT_EQ(
      std::string(text, static_cast<size_t>(read(out[0], text, sizeof text))),
      "tw");
  for (const int fd : {out[0], out[1], error[0], error[1]}) close(fd);
}

}  // namespace
}  // namespace canopy::client
