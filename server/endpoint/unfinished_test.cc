// Messages that arrive in part.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/endpoint/connection_table.h"
#include "server/ports/fake_sink.h"

namespace canopy::endpoint {
namespace {

// A handler of messages whose first four bytes are their length.
class Lengths : public ConnectionHandler {
 public:
  std::string_view Read(Connection& c) override {
    return {buffer_, table->Receive(c, buffer_, sizeof buffer_)};
  }
  size_t Handle(Connection& c, std::string_view data) override {
    uint32_t length = 0;
    c.awaited = sizeof length;
    if (data.size() < sizeof length) return 0;
    std::memcpy(&length, data.data(), sizeof length);
    c.awaited = length;
    if (data.size() < length) return 0;
    handled.push_back(c.id);
    return length;
  }
  void LogEnd(const Connection&, const std::string& reason) override {
    log.push_back(reason);
  }
  void OnClosed(Connection& c) override { closed.push_back(c.id); }
  bool IsStopped(const Connection&) const override { return stopped; }

  ConnectionTable* table = nullptr;
  bool stopped = false;
  std::vector<core::ClientId> handled;
  std::vector<std::string> log;
  std::vector<core::ClientId> closed;

 private:
  char buffer_[4096];
};

std::string Message(uint32_t length) {
  std::string message(length, 'x');
  std::memcpy(message.data(), &length, sizeof length);
  return message;
}

class UnfinishedTest : public ::testing::Test {
 protected:
  UnfinishedTest() { Make(int64_t{60} * 1'000'000'000); }
  void Make(int64_t half_message_ns) {
    ConnectionTableOptions options;
    options.unfinished.client = 10'000;
    options.unfinished.job = 20'000;
    options.unfinished.all = 30'000;
    options.max_queued_bytes = 3 << 20;
    options.half_message_ns = half_message_ns;
    table_.emplace(&loop_, &handler_, &sink_, std::move(options));
    handler_.table = &*table_;
  }
  // Adds a connection of a client and returns its other end.
  UniqueFd Add(core::ClientId id, const std::string& job,
               const std::string& client) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    auto connection = std::make_unique<Connection>();
    connection->id = id;
    connection->fd.Reset(fds[0]);
    connection->holder = {job, client};
    table_->Add(std::move(connection));
    return UniqueFd(fds[1]);
  }
  void Send(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    Rounds(10);
  }
  void Rounds(int count) {
    for (int i = 0; i < count; ++i) loop_.RunOnce(0);
  }
  // Returns true if the socket has data that was sent and not read.
  static bool HasUnread(Connection* c) {
    pollfd one = {c->fd.get(), POLLIN, 0};
    return poll(&one, 1, 0) == 1;
  }

  EventLoop loop_;
  FakeSink sink_;
  Lengths handler_;
  std::optional<ConnectionTable> table_;
};

TEST_F(UnfinishedTest, AnIncompleteMessageIsChargedUntilItIsComplete) {
  const UniqueFd peer = Add(1, "a", "a:0");
  const std::string message = Message(5000);
  Send(peer, message.substr(0, 100));
  EXPECT_EQ(table_->unfinished_bytes(), 5000u);
  Send(peer, message.substr(100));
  EXPECT_EQ(table_->unfinished_bytes(), 0u);
  EXPECT_EQ(handler_.handled.size(), 1u);
}

TEST_F(UnfinishedTest, TheChargeOfAnIncompleteMessageEndsWithItsConnection) {
  UniqueFd peer = Add(1, "a", "a:0");
  Send(peer, Message(5000).substr(0, 100));
  peer.Reset();
  Rounds(3);
  EXPECT_EQ(table_->unfinished_bytes(), 0u);
}

TEST_F(UnfinishedTest, AMessageOverTheLimitWaitsForMessagesOfTheSameJob) {
  const UniqueFd first = Add(1, "a", "a:0");
  const UniqueFd second = Add(2, "a", "a:1");
  const UniqueFd third = Add(3, "a", "a:2");
  const std::string message = Message(9000);
  Send(first, message.substr(0, 100));
  Send(second, message.substr(0, 100));
  Send(third, message.substr(0, 100));
  Send(third, message.substr(100));
  // No more of the message is read.
  EXPECT_EQ(table_->Find(3)->partial.size(), 100u);
  EXPECT_TRUE(handler_.handled.empty());
  // Another job has room.
  const UniqueFd other = Add(4, "b", "b:0");
  Send(other, message.substr(0, 100));
  Send(other, message.substr(100));
  EXPECT_EQ(handler_.handled, std::vector<core::ClientId>{4});
  Send(first, message.substr(100));
  EXPECT_EQ(handler_.handled, (std::vector<core::ClientId>{4, 1, 3}));
}

TEST_F(UnfinishedTest, ManyConnectionsOfARankShareItsLimit) {
  std::vector<UniqueFd> peers;
  for (core::ClientId id = 1; id <= 64; ++id) {
    peers.push_back(Add(id, "a", "a:0"));
    Send(peers.back(), Message(9000).substr(0, 100));
    Send(peers.back(), std::string(8000, 'x'));
  }
  EXPECT_EQ(table_->unfinished_bytes(), 9000u);
  size_t held = 0;
  for (const auto& [id, c] : table_->all()) held += c->partial.size();
  EXPECT_LT(held, 9000u + 64 * 4096);
}

TEST_F(UnfinishedTest, AWaitingConnectionThatEndsIsClosed) {
  const UniqueFd first = Add(1, "a", "a:0");
  UniqueFd second = Add(2, "a", "a:0");
  Send(first, Message(9000).substr(0, 100));
  Send(second, Message(9000).substr(0, 100));
  second.Reset();
  Rounds(3);
  EXPECT_EQ(handler_.closed, std::vector<core::ClientId>{2});
}

class HalfMessageTest : public UnfinishedTest {
 protected:
  HalfMessageTest() { Make(20'000'000); }
  void Wait(int ms) {
    const int64_t end = EventLoop::Now() + ms * int64_t{1'000'000};
    while (EventLoop::Now() < end) loop_.RunOnce(5);
  }
};

TEST_F(HalfMessageTest, AMessageWithoutProgressEndsItsConnection) {
  const UniqueFd peer = Add(1, "a", "a:0");
  Send(peer, Message(9000).substr(0, 100));
  for (int i = 0; i < 1000 && handler_.closed.empty(); ++i) loop_.RunOnce(100);
  ASSERT_EQ(handler_.closed, std::vector<core::ClientId>{1});
  EXPECT_TRUE(
      handler_.log[0].starts_with("sent 100 of 9000 bytes of a message"))
      << handler_.log[0];
  EXPECT_EQ(table_->unfinished_bytes(), 0u);
}

TEST_F(HalfMessageTest, TheTimeLimitWaitsWhileTheProcessIsStopped) {
  handler_.stopped = true;
  const UniqueFd peer = Add(1, "a", "a:0");
  Send(peer, Message(9000).substr(0, 100));
  Wait(100);
  EXPECT_TRUE(handler_.closed.empty());
  handler_.stopped = false;
  for (int i = 0; i < 1000 && handler_.closed.empty(); ++i) loop_.RunOnce(100);
  EXPECT_EQ(handler_.closed, std::vector<core::ClientId>{1});
}

TEST_F(HalfMessageTest, AConnectionWithoutAnIncompleteMessageIsKept) {
  const UniqueFd peer = Add(1, "a", "a:0");
  Send(peer, Message(9000).substr(0, 100));
  Send(peer, std::string(8900, 'x'));
  Wait(100);
  EXPECT_TRUE(handler_.closed.empty());
}

TEST_F(UnfinishedTest, QueuedAnswersCountForAllConnectionsOfAClient) {
  std::vector<UniqueFd> peers;
  for (core::ClientId id = 1; id <= 4; ++id) {
    peers.push_back(Add(id, "a", "a:0"));
    Connection* c = table_->Find(id);
    c->out.Append(std::string(size_t{3} << 19, 'x'));
    table_->MarkDirty(*c);
    Rounds(3);
  }
  EXPECT_EQ(handler_.closed.size(), 2u);
  EXPECT_EQ(handler_.log[0], "does not read its messages");
  const UniqueFd other = Add(9, "a", "a:1");
  table_->Find(9)->out.Append(std::string(size_t{3} << 19, 'x'));
  table_->MarkDirty(*table_->Find(9));
  Rounds(3);
  EXPECT_EQ(handler_.closed.size(), 2u);
}

}  // namespace
}  // namespace canopy::endpoint
