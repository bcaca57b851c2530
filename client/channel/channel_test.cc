#include "client/channel/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/local/reply.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::FrameType;

class RecordingSink : public ChannelSink {
 public:
  void OnEvent(std::string_view payload) override {
    events.push_back(std::string(payload));
  }
  void OnSegment(std::string_view payload, UniqueFd) override {
    segments.push_back(std::string(payload));
  }
  void OnLost() override { lost.set_value(); }

  std::vector<std::string> events;
  std::vector<std::string> segments;
  std::promise<void> lost;
};

// A channel, and the other end of its socket as its agent.
class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    agent_ = std::make_unique<FrameSocket>(UniqueFd(fds[1]));
    channel_ = std::make_unique<Channel>(
        std::make_unique<FrameSocket>(UniqueFd(fds[0])), &sink_, &progress_);
  }
  ~ChannelTest() override {
    channel_->Close();
    progress_.Stop();
  }

  struct Received {
    uint64_t tag;
    std::string payload;
  };
  Received Receive() {
    for (;;) {
      if (const auto frame = agent_->Next()) {
        return {frame->tag, std::string(frame->payload)};
      }
      EXPECT_EQ(agent_->Read(true), FrameSocket::ReadState::kData);
    }
  }
  void Answer(uint64_t tag, int status, const std::string& payload) {
    EXPECT_EQ(agent_->Send(FrameType::kReply, tag,
                           wire::Encode(local::Reply{status, payload})),
              kSuccess);
  }
  std::future<Reply> CallInThread(const std::string& payload) {
    return std::async(std::launch::async, [this, payload] {
      return channel_->Call(FrameType::kGet, payload);
    });
  }

  RecordingSink sink_;
  Progress progress_{/*external=*/false};
  std::unique_ptr<FrameSocket> agent_;
  std::unique_ptr<Channel> channel_;
};

// Creates a channel, sends one request, and returns the request's tag.
uint64_t TagOfANewChannel() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  FrameSocket agent{UniqueFd(fds[1])};
  RecordingSink sink;
  Progress progress(/*external=*/false);
  Channel channel(std::make_unique<FrameSocket>(UniqueFd(fds[0])), &sink,
                  &progress);
  EXPECT_EQ(channel.CallAsync(FrameType::kSpawn, "x", [](const Reply&) {}),
            kSuccess);
  std::optional<Frame> frame;
  while (!(frame = agent.Next())) {
    if (agent.Read(true) != FrameSocket::ReadState::kData) break;
  }
  channel.Close();
  progress.Stop();
  return frame ? frame->tag : 0;
}

TEST(ChannelTagTest, TwoChannelsOfAProcessHaveDifferentTags) {
  const uint64_t one = TagOfANewChannel();
  const uint64_t other = TagOfANewChannel();
  EXPECT_NE(one, 0u);
  EXPECT_NE(other, 0u);
  EXPECT_GT(std::max(one, other) - std::min(one, other), 1000u);
}

TEST_F(ChannelTest, ACallGetsItsAnswer) {
  std::future<Reply> reply = CallInThread("question");
  const Received got = Receive();
  EXPECT_EQ(got.payload, "question");
  EXPECT_NE(got.tag, 0u);
  Answer(got.tag, kErrTimeout, "answer");
  const Reply answer = reply.get();
  EXPECT_EQ(answer.status, kErrTimeout);
  EXPECT_EQ(answer.payload, "answer");
}

TEST_F(ChannelTest, AnswersMayComeInAnyOrder) {
  std::future<Reply> first = CallInThread("1");
  const Received one = Receive();
  std::future<Reply> second = CallInThread("2");
  const Received two = Receive();
  std::future<Reply> third = CallInThread("3");
  const Received three = Receive();
  Answer(three.tag, kSuccess, "c");
  EXPECT_EQ(third.get().payload, "c");
  // The reading thread finishes first, so another thread must take over.
  Answer(one.tag, kSuccess, "a");
  EXPECT_EQ(first.get().payload, "a");
  Answer(two.tag, kSuccess, "b");
  EXPECT_EQ(second.get().payload, "b");
}

TEST_F(ChannelTest, AReplyToNoRequestIsIgnored) {
  std::future<Reply> reply = CallInThread("x");
  const Received got = Receive();
  Answer(got.tag + 17, kSuccess, "stray");
  Answer(got.tag, kSuccess, "mine");
  EXPECT_EQ(reply.get().payload, "mine");
}

TEST_F(ChannelTest, AMalformedAnswerIsAnError) {
  std::future<Reply> reply = CallInThread("x");
  const Received got = Receive();
  ASSERT_EQ(agent_->Send(FrameType::kReply, got.tag, "\x08"), kSuccess);
  EXPECT_EQ(reply.get().status, kErrUnpackFailure);
}

TEST_F(ChannelTest, UnknownFramesAreSkipped) {
  std::future<Reply> reply = CallInThread("x");
  const Received got = Receive();
  ASSERT_EQ(agent_->Send(static_cast<FrameType>(999), 0, "?"), kSuccess);
  Answer(got.tag, kSuccess, "mine");
  EXPECT_EQ(reply.get().payload, "mine");
}

TEST_F(ChannelTest, EventsAreDeliveredBeforeALaterReply) {
  std::future<Reply> reply = CallInThread("x");
  const Received got = Receive();
  ASSERT_EQ(agent_->Send(FrameType::kEvent, 0, "event"), kSuccess);
  ASSERT_EQ(agent_->Send(FrameType::kSegment, 0, "segment"), kSuccess);
  Answer(got.tag, kSuccess, "");
  EXPECT_EQ(reply.get().status, kSuccess);
  EXPECT_EQ(sink_.events, std::vector<std::string>{"event"});
  EXPECT_EQ(sink_.segments, std::vector<std::string>{"segment"});
}

TEST_F(ChannelTest, ACallbackRunsInTheProgressThread) {
  std::promise<std::pair<Reply, bool>> done;
  ASSERT_EQ(channel_->CallAsync(FrameType::kGet, "x",
                                [&](const Reply& reply) {
                                  done.set_value({reply, progress_.InTask()});
                                }),
            kSuccess);
  const Received got = Receive();
  Answer(got.tag, kSuccess, "y");
  const auto [reply, in_task] = done.get_future().get();
  EXPECT_EQ(reply.payload, "y");
  EXPECT_TRUE(in_task);
}

TEST_F(ChannelTest, ABlockingCallPassesTheRepliesOfOtherCallsToTheirCallbacks) {
  std::promise<std::string> done;
  ASSERT_EQ(channel_->CallAsync(
                FrameType::kGet, "async",
                [&](const Reply& reply) { done.set_value(reply.payload); }),
            kSuccess);
  const Received async = Receive();
  std::future<Reply> reply = CallInThread("sync");
  const Received sync = Receive();
  Answer(async.tag, kSuccess, "1");
  Answer(sync.tag, kSuccess, "2");
  EXPECT_EQ(done.get_future().get(), "1");
  EXPECT_EQ(reply.get().payload, "2");
}

TEST_F(ChannelTest, ACallbackMayMakeCalls) {
  std::promise<Reply> nested;
  ASSERT_EQ(channel_->CallAsync(FrameType::kGet, "outer",
                                [&](const Reply&) {
                                  nested.set_value(
                                      channel_->Call(FrameType::kGet, "inner"));
                                }),
            kSuccess);
  Answer(Receive().tag, kSuccess, "");
  const Received inner = Receive();
  EXPECT_EQ(inner.payload, "inner");
  Answer(inner.tag, kSuccess, "deep");
  EXPECT_EQ(nested.get_future().get().payload, "deep");
}

TEST_F(ChannelTest, PostsExpectNoReply) {
  EXPECT_EQ(channel_->Post(FrameType::kCommit, "data"), kSuccess);
  const Received got = Receive();
  EXPECT_EQ(got.tag, 0u);
  EXPECT_EQ(got.payload, "data");
}

TEST_F(ChannelTest, TheEndOfTheAgentEndsAllRequests) {
  std::promise<int> async;
  ASSERT_EQ(channel_->CallAsync(
                FrameType::kGet, "async",
                [&](const Reply& reply) { async.set_value(reply.status); }),
            kSuccess);
  Receive();
  std::future<Reply> first = CallInThread("1");
  Receive();
  std::future<Reply> second = CallInThread("2");
  Receive();
  agent_.reset();
  EXPECT_EQ(first.get().status, kErrLostConnection);
  EXPECT_EQ(second.get().status, kErrLostConnection);
  EXPECT_EQ(async.get_future().get(), kErrLostConnection);
  sink_.lost.get_future().wait();
  EXPECT_TRUE(channel_->lost());
  EXPECT_EQ(channel_->Call(FrameType::kGet, "x").status, kErrLostConnection);
  EXPECT_EQ(channel_->Post(FrameType::kCommit, "x"), kErrLostConnection);
  EXPECT_EQ(channel_->CallAsync(FrameType::kGet, "x", [](const Reply&) {}),
            kErrLostConnection);
}

TEST_F(ChannelTest, AnIdleProcessDetectsTheEndOfTheAgent) {
  channel_->ExpectEvents(true);
  agent_.reset();
  sink_.lost.get_future().wait();
}

TEST_F(ChannelTest, CloseFailsPendingCallsButReportsNoLoss) {
  std::future<Reply> reply = CallInThread("x");
  Receive();
  channel_->Close();
  EXPECT_EQ(reply.get().status, kErrLostConnection);
  EXPECT_EQ(sink_.lost.get_future().wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
}

// Callers, callbacks and events run concurrently; every request gets its own
// answer.
TEST_F(ChannelTest, ConcurrentRequestsGetTheirOwnReplies) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  channel_->ExpectEvents(true);
  std::thread agent([this] {
    for (int i = 0; i < kThreads * kCalls * 2; ++i) {
      const Received got = Receive();
      if (i % 7 == 0) agent_->Send(FrameType::kEvent, 0, "event");
      Answer(got.tag, kSuccess, got.payload);
    }
  });
  std::atomic<int> async_done{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const std::string text = std::to_string(t) + "." + std::to_string(i);
        channel_->CallAsync(FrameType::kGet, text,
                            [&, text](const Reply& reply) {
                              EXPECT_EQ(reply.payload, text);
                              ++async_done;
                            });
        EXPECT_EQ(channel_->Call(FrameType::kGet, text).payload, text);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  agent.join();
  std::promise<void> flushed;
  progress_.Post([&] { flushed.set_value(); });
  flushed.get_future().wait();
  progress_.Stop();
  EXPECT_EQ(async_done, kThreads * kCalls);
}

}  // namespace
}  // namespace canopy::client
