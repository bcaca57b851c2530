#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/channel/channel.h"
#include "common/local/reply.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::FrameType;

// A client's and an agent's end of a new connection.
using Ends =
    std::pair<std::unique_ptr<FrameSocket>, std::unique_ptr<FrameSocket>>;

Ends Connect() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {std::make_unique<FrameSocket>(UniqueFd(fds[0])),
          std::make_unique<FrameSocket>(UniqueFd(fds[1]))};
}

// Waits for a connection of Offer and reconnects to it.
class ReconnectingSink : public ChannelSink {
 public:
  void OnEvent(std::string_view) override {}
  void OnSegment(std::string_view, UniqueFd) override {}
  void OnLost() override { lost.set_value(); }
  void OnHandover(std::string_view payload) override {
    away.emplace_back(payload);
  }
  void OnAnswered(FrameType, std::string_view request, int) override {
    std::lock_guard<std::mutex> lock(mu_);
    answered_.emplace_back(request);
  }
  std::unique_ptr<FrameSocket> Reattach() override {
    std::unique_lock<std::mutex> lock(mu_);
    searching_ = true;
    change_.notify_all();
    change_.wait(lock, [this] { return !offered_.empty(); });
    auto next = std::move(offered_.front());
    offered_.pop_front();
    return next;
  }

  // Lets the next search find the agent at `socket`, or no agent if `socket` is
  // null.
  void Offer(std::unique_ptr<FrameSocket> socket) {
    std::lock_guard<std::mutex> lock(mu_);
    offered_.push_back(std::move(socket));
    change_.notify_all();
  }
  void AwaitSearch() {
    std::unique_lock<std::mutex> lock(mu_);
    change_.wait(lock, [this] { return searching_; });
  }
  std::vector<std::string> answered() {
    std::lock_guard<std::mutex> lock(mu_);
    return answered_;
  }

  std::vector<std::string> away;
  std::promise<void> lost;

 private:
  std::mutex mu_;
  std::condition_variable change_;
  bool searching_ = false;
  std::deque<std::unique_ptr<FrameSocket>> offered_;
  std::vector<std::string> answered_;
};

class ChannelReconnectTest : public testing::Test {
 protected:
  ChannelReconnectTest() {
    Ends ends = Connect();
    agent_ = std::move(ends.second);
    channel_ =
        std::make_unique<Channel>(std::move(ends.first), &sink_, &progress_);
  }
  ~ChannelReconnectTest() override {
    channel_->Close();
    progress_.Stop();
  }

  struct Received {
    uint64_t tag;
    std::string payload;
    bool operator==(const Received&) const = default;
  };
  Received Receive() {
    for (;;) {
      if (const auto frame = agent_->Next()) {
        return {frame->tag, std::string(frame->payload)};
      }
      EXPECT_EQ(agent_->Read(true), FrameSocket::ReadState::kData);
    }
  }
  void Answer(const Received& request, const std::string& payload) {
    EXPECT_EQ(agent_->Send(FrameType::kReply, request.tag,
                           wire::Encode(local::Reply{kSuccess, payload})),
              kSuccess);
  }
  std::future<Reply> CallInThread(const std::string& payload) {
    return std::async(std::launch::async, [this, payload] {
      return channel_->Call(FrameType::kGet, payload);
    });
  }
  // Ends the agent. The channel finds another agent, which becomes `agent_`.
  void Replace() {
    Ends ends = Connect();
    sink_.Offer(std::move(ends.first));
    agent_ = std::move(ends.second);
  }

  ReconnectingSink sink_;
  Progress progress_{/*external=*/false};
  std::unique_ptr<FrameSocket> agent_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(ChannelReconnectTest, PendingRequestsAreSentToTheNextAgent) {
  std::future<Reply> first = CallInThread("1");
  const Received one = Receive();
  std::future<Reply> second = CallInThread("2");
  const Received two = Receive();
  Answer(one, "a");
  EXPECT_EQ(first.get().payload, "a");
  Replace();
  EXPECT_EQ(Receive(), two);
  Answer(two, "b");
  EXPECT_EQ(second.get().payload, "b");
  EXPECT_EQ(sink_.answered(), (std::vector<std::string>{"1", "2"}));
}

TEST_F(ChannelReconnectTest, RequestsAreResentInTheirOrder) {
  constexpr int kRequests = 20;
  std::vector<std::future<int>> done;
  for (int i = 0; i < kRequests; ++i) {
    auto answered = std::make_shared<std::promise<int>>();
    done.push_back(answered->get_future());
    ASSERT_EQ(channel_->CallAsync(FrameType::kGet, std::to_string(i),
                                  [answered](const Reply& r) {
                                    answered->set_value(r.status);
                                  }),
              kSuccess);
  }
  Replace();
  for (int i = 0; i < kRequests; ++i) {
    const Received got = Receive();
    EXPECT_EQ(got.payload, std::to_string(i));
    Answer(got, "");
  }
  for (auto& end : done) EXPECT_EQ(end.get(), kSuccess);
}

TEST_F(ChannelReconnectTest, CallsDuringTheSearchAreSentToTheNextAgent) {
  std::future<Reply> first = CallInThread("1");
  Receive();
  agent_.reset();
  sink_.AwaitSearch();
  std::future<Reply> second = CallInThread("2");
  Replace();
  std::vector<std::string> got;
  for (int i = 0; i < 2; ++i) {
    const Received request = Receive();
    got.push_back(request.payload);
    Answer(request, "to " + request.payload);
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(first.get().payload, "to 1");
  EXPECT_EQ(second.get().payload, "to 2");
}

TEST_F(ChannelReconnectTest, APostFailsAndBeginsTheSearchIfTheAgentIsGone) {
  agent_.reset();
  EXPECT_EQ(channel_->Post(FrameType::kCommitted, ""), kErrLostConnection);
  sink_.AwaitSearch();
  Replace();
  std::future<Reply> reply = CallInThread("x");
  const Received request = Receive();
  EXPECT_EQ(request.payload, "x");
  Answer(request, "y");
  EXPECT_EQ(reply.get().payload, "y");
}

TEST_F(ChannelReconnectTest, ARequestIsResentAgainIfTheNextAgentEndsToo) {
  std::future<Reply> reply = CallInThread("x");
  const Received request = Receive();
  Replace();
  Replace();
  EXPECT_EQ(Receive(), request);
  Answer(request, "y");
  EXPECT_EQ(reply.get().payload, "y");
}

TEST_F(ChannelReconnectTest, TheChannelIsLostIfNoOtherAgentIsFound) {
  std::future<Reply> reply = CallInThread("x");
  Receive();
  sink_.Offer(nullptr);
  agent_.reset();
  EXPECT_EQ(reply.get().status, kErrLostConnection);
  sink_.lost.get_future().wait();
  EXPECT_TRUE(channel_->lost());
  EXPECT_EQ(channel_->Call(FrameType::kGet, "later").status,
            kErrLostConnection);
  EXPECT_TRUE(sink_.answered().empty());
}

TEST_F(ChannelReconnectTest, CloseEndsTheSearch) {
  std::future<Reply> reply = CallInThread("x");
  Receive();
  agent_.reset();
  sink_.AwaitSearch();
  channel_->Close();
  Ends ends = Connect();
  sink_.Offer(std::move(ends.first));
  EXPECT_EQ(reply.get().status, kErrLostConnection);
  // The channel does not use the agent that was found too late.
  EXPECT_EQ(ends.second->Read(true), FrameSocket::ReadState::kClosed);
}

TEST_F(ChannelReconnectTest, TheLastFramesOfAnAgentAreRead) {
  EXPECT_FALSE(channel_->PeerIsGone());
  ASSERT_EQ(agent_->Send(FrameType::kHandover, 0, "soon"), kSuccess);
  agent_.reset();
  EXPECT_TRUE(channel_->PeerIsGone());
  EXPECT_TRUE(channel_->ReadLast());
  EXPECT_EQ(sink_.away, std::vector<std::string>{"soon"});
  EXPECT_TRUE(channel_->PeerIsGone());
  std::future<Reply> reply = CallInThread("x");
  Replace();
  const Received request = Receive();
  EXPECT_EQ(request.payload, "x");
  Answer(request, "y");
  EXPECT_EQ(reply.get().payload, "y");
  EXPECT_FALSE(channel_->PeerIsGone());
}

}  // namespace
}  // namespace canopy::client
