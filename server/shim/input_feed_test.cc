#include "server/shim/input_feed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "server/shim/pty.h"

namespace canopy::process {
namespace {

class InputFeedTest : public testing::Test {
 protected:
  InputFeedTest()
      : feed_(std::make_unique<InputFeed>(
            &loop_, [this](uint64_t bytes) { done_ += bytes; })) {
    signal(SIGPIPE, SIG_IGN);
  }

  UniqueFd Add(Rank rank) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    feed_->Add(rank, UniqueFd(fds[1]));
    return UniqueFd(fds[0]);
  }

  // Reads up to `size` bytes while running the loop.
  std::string Read(const UniqueFd& fd, size_t size) {
    std::string text;
    while (text.size() < size) {
      loop_.RunOnce(0);
      char buffer[65536];
      const ssize_t n =
          read(fd.get(), buffer, std::min(sizeof buffer, size - text.size()));
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }

  EventLoop loop_;
  uint64_t done_ = 0;
  std::unique_ptr<InputFeed> feed_;
};

TEST_F(InputFeedTest, ATerminalGetsTextAndWindowSizes) {
  const Pty pty = OpenPty({24, 80}, geteuid());
  ASSERT_TRUE(pty.slave);
  feed_->Add(3, UniqueFd(dup(pty.master.get())), /*is_terminal=*/true);
  const std::string size = EncodePtySize({50, 100});
  feed_->Feed({}, "one" + size.substr(0, 3));
  feed_->Feed({}, size.substr(3) + "\xff\xff\n");
  EXPECT_EQ(Read(pty.slave, 5), "one\xff\n");
  winsize window;
  ASSERT_EQ(ioctl(pty.slave.get(), TIOCGWINSZ, &window), 0);
  EXPECT_EQ(window.ws_row, 50);
  EXPECT_EQ(window.ws_col, 100);
  EXPECT_EQ(done_, 3 + size.size() + 3);
}

TEST_F(InputFeedTest, DataAfterTheEndOfTheInputIsDropped) {
  const UniqueFd a = Add(0);
  feed_->Feed({0}, "hello");
  EXPECT_EQ(done_, 5u);
  feed_->Feed({0}, "");
  EXPECT_EQ(Read(a, 100), "hello");
  feed_->Feed({0}, "too late");
  EXPECT_EQ(done_, 13u);
}

TEST_F(InputFeedTest, LargeDataWaitsForTheReader) {
  const UniqueFd a = Add(0);
  const std::string text(300'000, 'x');
  feed_->Feed({0}, text);
  feed_->Feed({0}, "");
  EXPECT_EQ(done_, 0u);
  EXPECT_EQ(feed_->pending(), text.size());
  EXPECT_EQ(Read(a, text.size()), text);
  EXPECT_EQ(done_, text.size());
  EXPECT_EQ(feed_->pending(), 0u);
  EXPECT_EQ(Read(a, 1), "");
}

TEST_F(InputFeedTest, DataIsDoneWhenAllRanksHaveReadIt) {
  const UniqueFd a = Add(0);
  const UniqueFd b = Add(1);
  const std::string text(200'000, 'x');
  feed_->Feed({}, text);
  EXPECT_EQ(Read(a, text.size()), text);
  EXPECT_EQ(done_, 0u);
  EXPECT_EQ(Read(b, text.size()), text);
  EXPECT_EQ(done_, text.size());
}

TEST_F(InputFeedTest, DataIsReportedAsDoneWhenItsReadersAreGone) {
  UniqueFd a = Add(0);
  feed_->Feed({0, 7}, std::string(200'000, 'x'));
  a.Reset();
  for (int i = 0; i < 3; ++i) loop_.RunOnce(0);
  EXPECT_EQ(done_, 200'000u);
}

TEST_F(InputFeedTest, CloseReportsThePendingDataOfARankAsDone) {
  const UniqueFd a = Add(0);
  feed_->Feed({0}, std::string(200'000, 'x'));
  feed_->Close(0);
  EXPECT_EQ(done_, 200'000u);
  loop_.RunOnce(0);
}

TEST_F(InputFeedTest, TheDestructorReportsNoDataAsDone) {
  const UniqueFd a = Add(0);
  feed_->Feed({0}, std::string(200'000, 'x'));
  feed_.reset();
  EXPECT_EQ(done_, 0u);
}

}  // namespace
}  // namespace canopy::process
