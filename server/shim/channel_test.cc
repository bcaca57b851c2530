#include "server/shim/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace canopy::process {
namespace {

class ChannelTest : public testing::Test {
 protected:
  struct Received {
    FrameType type;
    std::string payload;
    std::vector<UniqueFd> fds;
  };

  ChannelTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    near_.Reset(fds[0]);
    far_.Reset(fds[1]);
  }

  std::unique_ptr<FrameChannel> Open(UniqueFd socket) {
    return std::make_unique<FrameChannel>(
        &loop_, std::move(socket),
        [this](FrameChannel::Frame& f) {
          received_.push_back(
              {f.type, std::string(f.payload), std::move(f.fds)});
        },
        [this](const std::string& reason) { closed_.push_back(reason); });
  }

  template <typename Condition>
  bool RunUntil(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      loop_.RunOnce(5);
    }
    return false;
  }

  EventLoop loop_;
  UniqueFd near_;
  UniqueFd far_;
  std::vector<Received> received_;
  std::vector<std::string> closed_;
};

TEST_F(ChannelTest, FramesKeepTheirOrderAndSize) {
  const auto a = Open(std::move(near_));
  const auto b = Open(std::move(far_));
  std::vector<size_t> sizes = {0, 1, 100, 70'000, 3, 5'000'000, 2, 200'000};
  for (const size_t size : sizes) {
    a->Send(FrameType::kOutput, "head",
            Bytes(std::string(size, static_cast<char>('a' + size % 26))));
  }
  ASSERT_TRUE(RunUntil([&] { return received_.size() == sizes.size(); }));
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(
        received_[i].payload,
        "head" + std::string(sizes[i], static_cast<char>('a' + sizes[i] % 26)));
  }
}

TEST_F(ChannelTest, DescriptorsArriveWithTheirFrame) {
  const auto a = Open(std::move(near_));
  const auto b = Open(std::move(far_));
  const auto send = [&](int count) {
    std::vector<UniqueFd> fds;
    fds.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      fds.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    a->Send(FrameType::kRanks, std::to_string(count), Bytes(), std::move(fds));
  };
  const std::vector<int> counts = {0, 3, 0, 1, static_cast<int>(kMaxFrameFds),
                                   2};
  for (const int count : counts) send(count);
  ASSERT_TRUE(RunUntil([&] { return received_.size() == counts.size(); }));
  for (size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(received_[i].payload, std::to_string(counts[i]));
    ASSERT_EQ(received_[i].fds.size(), static_cast<size_t>(counts[i]));
    for (const UniqueFd& fd : received_[i].fds) {
      EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
    }
  }
}

TEST_F(ChannelTest, HasWaitingFindsAFrameBehindTheCurrentOne) {
  const auto a = Open(std::move(near_));
  std::unique_ptr<FrameChannel> b;
  std::vector<bool> waiting;
  b = std::make_unique<FrameChannel>(
      &loop_, std::move(far_),
      [&](FrameChannel::Frame& frame) {
        received_.push_back({frame.type, std::string(frame.payload), {}});
        waiting.push_back(
            b->HasWaiting([](FrameType type, std::string_view payload) {
              return type == FrameType::kKill && payload == "all";
            }));
      },
      [](const std::string&) {});
  a->Send(FrameType::kStart, "");
  a->Flush();
  a->Send(FrameType::kRanks, "fd", Bytes(), {});
  a->Send(FrameType::kKill, "one");
  a->Send(FrameType::kKill, "all");
  a->Send(FrameType::kOutput, "", Bytes(std::string(300'000, 'x')));
  a->Flush();
  ASSERT_TRUE(RunUntil([&] { return received_.size() == 5; }));
  EXPECT_EQ(waiting, (std::vector<bool>{true, true, true, false, false}));
  EXPECT_EQ(received_[2].payload, "one");
  EXPECT_EQ(received_[4].payload.size(), 300'000u);
}

TEST_F(ChannelTest, TheEndIsReportedOnce) {
  const auto a = Open(std::move(near_));
  far_.Reset();
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  a->Send(FrameType::kHello, "");
  a->Flush();
  a->Fail("again");
  EXPECT_EQ(closed_, std::vector<std::string>{"connection closed"});
}

TEST_F(ChannelTest, FramesBeforeTheEndAreDelivered) {
  const auto a = Open(std::move(near_));
  FrameHeader header;
  header.type = static_cast<uint8_t>(FrameType::kStart);
  ASSERT_EQ(write(far_.get(), &header, sizeof header),
            static_cast<ssize_t>(sizeof header));
  far_.Reset();
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  EXPECT_EQ(received_.size(), 1u);
}

TEST_F(ChannelTest, ManySmallFramesAreDividedIntoRounds) {
  const auto b = Open(std::move(far_));
  const auto a = Open(std::move(near_));
  constexpr size_t kFrames = 5 * FrameChannel::kFramesPerRound + 1;
  for (size_t i = 0; i < kFrames; ++i) a->Send(FrameType::kOutput, "x");
  a->Flush();
  size_t before = 0;
  int rounds = 0;
  while (received_.size() < kFrames && rounds < 100) {
    loop_.RunOnce(1000);
    ++rounds;
    EXPECT_LE(received_.size() - before,
              static_cast<size_t>(FrameChannel::kFramesPerRound));
    before = received_.size();
  }
  EXPECT_EQ(received_.size(), kFrames);
  EXPECT_EQ(rounds, 6);
}

TEST_F(ChannelTest, TheEndWaitsForTheFramesOfLaterRounds) {
  const auto b = Open(std::move(far_));
  constexpr size_t kFrames = 3 * FrameChannel::kFramesPerRound;
  {
    const auto a = Open(std::move(near_));
    for (size_t i = 0; i < kFrames; ++i) a->Send(FrameType::kOutput, "x");
    ASSERT_TRUE(a->Flush());
  }
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  EXPECT_EQ(received_.size(), kFrames);
}

TEST_F(ChannelTest, FramesThatAreTooLargeAreRefused) {
  const auto a = Open(std::move(near_));
  FrameHeader header;
  header.length = kMaxPayload + 1;
  ASSERT_GT(write(far_.get(), &header, sizeof header), 0);
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  EXPECT_EQ(closed_[0], "malformed frame");
}

TEST_F(ChannelTest, APeerMayBeLimitedToSmallerFrames) {
  const auto a = Open(std::move(near_));
  a->set_max_payload(100);
  FrameHeader header;
  header.length = 101;
  ASSERT_GT(write(far_.get(), &header, sizeof header), 0);
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  EXPECT_EQ(closed_[0], "malformed frame");
}

TEST_F(ChannelTest, MissingDescriptorsAreRefused) {
  const auto a = Open(std::move(near_));
  FrameHeader header;
  header.fds = 1;
  ASSERT_GT(write(far_.get(), &header, sizeof header), 0);
  ASSERT_TRUE(RunUntil([&] { return !closed_.empty(); }));
  EXPECT_EQ(closed_[0], "descriptors missing");
  EXPECT_TRUE(received_.empty());
}

TEST_F(ChannelTest, ACallbackMayDestroyTheChannel) {
  std::unique_ptr<FrameChannel> channel;
  int frames = 0;
  channel = std::make_unique<FrameChannel>(
      &loop_, std::move(near_),
      [&](FrameChannel::Frame&) {
        ++frames;
        channel.reset();
      },
      [](const std::string&) { FAIL(); });
  const FrameHeader headers[3] = {};
  ASSERT_GT(write(far_.get(), headers, sizeof headers), 0);
  EXPECT_TRUE(RunUntil([&] { return channel == nullptr; }));
  loop_.RunOnce(0);
  EXPECT_EQ(frames, 1);
}

}  // namespace
}  // namespace canopy::process
