#include "server/shim/pod/pod_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "common/posix/unique_fd.h"
#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

struct Pipe {
  Pipe() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(pipe(fds), 0);
    read_end.Reset(fds[0]);
    write_end.Reset(fds[1]);
  }
  std::string ReadAll() {
    write_end.Reset();
    std::string all;
    char buffer[4096];
    ssize_t n;
    while ((n = read(read_end.get(), buffer, sizeof buffer)) > 0) {
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }
  UniqueFd read_end;
  UniqueFd write_end;
};

TEST(RankLines, LinesOfSeveralRanksDoNotMix) {
  RankLines lines(/*marks=*/true);
  EXPECT_EQ(lines.Take(0, kChannelStdout, "ab"), "");
  EXPECT_EQ(lines.Take(1, kChannelStdout, "x\ny"), "[1] x\n");
  EXPECT_EQ(lines.Take(0, kChannelStdout, "c\n"), "[0] abc\n");
  EXPECT_EQ(lines.TakeRest(kChannelStdout), "[1] y\n");
  EXPECT_EQ(lines.TakeRest(kChannelStdout), "");
}

TEST(RankLines, StreamsOfOneRankAreSeparate) {
  RankLines lines(/*marks=*/true);
  EXPECT_EQ(lines.Take(0, kChannelStdout, "out"), "");
  EXPECT_EQ(lines.Take(0, kChannelStderr, "err\n"), "[0] err\n");
  EXPECT_EQ(lines.TakeRest(kChannelStderr), "");
  EXPECT_EQ(lines.TakeRest(kChannelStdout), "[0] out\n");
}

TEST(RankLines, AnEndlessLineIsCut) {
  RankLines lines(/*marks=*/true);
  const std::string text(RankLines::kMaxLine + 1, 'z');
  EXPECT_EQ(lines.Take(0, kChannelStdout, text), "[0] " + text + "\n");
}

TEST(RankLines, WithoutMarksBytesPassUnchanged) {
  RankLines lines(/*marks=*/false);
  EXPECT_EQ(lines.Take(0, kChannelStdout, "ab"), "ab");
  EXPECT_EQ(lines.TakeRest(kChannelStdout), "");
}

TEST(PodOutput, WritesBothStreamsAndReportsTheRanksBytes) {
  Pipe out;
  Pipe err;
  std::atomic<uint64_t> written{0};
  {
    PodOutput output(out.write_end.get(), err.write_end.get(), /*marks=*/true,
                     [&written](uint64_t bytes) { written += bytes; });
    output.Put(3, kChannelStdout, "one\ntw");
    output.Put(4, kChannelStderr, "three\n");
    output.Put(3, kChannelStdout, "o");
  }
  EXPECT_EQ(out.ReadAll(), "[3] one\n[3] two\n");
  EXPECT_EQ(err.ReadAll(), "[4] three\n");
  EXPECT_EQ(written, 13u);
}

TEST(PodOutput, ABrokenStreamLosesOnlyItsOwnOutput) {
  signal(SIGPIPE, SIG_IGN);
  Pipe out;
  Pipe err;
  err.read_end.Reset();
  std::atomic<uint64_t> written{0};
  {
    PodOutput output(out.write_end.get(), err.write_end.get(), /*marks=*/false,
                     [&written](uint64_t bytes) { written += bytes; });
    output.Put(0, kChannelStderr, "lost");
    output.Put(0, kChannelStdout, "kept");
  }
  EXPECT_EQ(out.ReadAll(), "kept");
  EXPECT_EQ(written, 8u);
}

}  // namespace
}  // namespace canopy::process
