#include "server/endpoint/connection_table.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "server/ports/fake_sink.h"

namespace canopy::endpoint {
namespace {

// A handler of messages of four bytes. "ask." raises an input, "big." gets a
// large answer, "sorry" ends the connection.
class FourBytes : public ConnectionHandler {
 public:
  std::string_view Read(Connection& c) override {
    return {buffer_, table->Receive(c, buffer_, sizeof buffer_)};
  }
  size_t Handle(Connection& c, std::string_view data) override {
    if (data.size() < 4) return 0;
    const std::string message(data.substr(0, 4));
    handled.emplace_back(c.id, message);
    *now += 100;
    if (message == "ask.") {
      sink->OnInput(core::ClientGone{c.id});
    } else if (message == "big.") {
      c.out.Append(std::string(1 << 20, 'x'));
      table->MarkDirty(c);
    } else if (message == "end.") {
      table->End(c, "it asked for it");
    } else if (message == "vast") {
      throw std::bad_alloc();
    }
    return 4;
  }
  void LogEnd(const Connection&, const std::string& reason) override {
    log.push_back(reason);
  }
  void OnClosed(Connection& c) override { closed.push_back(c.id); }

  size_t HandledOf(core::ClientId id) const {
    size_t count = 0;
    for (const auto& [client, message] : handled) count += client == id;
    return count;
  }

  ConnectionTable* table = nullptr;
  FakeSink* sink = nullptr;
  int64_t* now = nullptr;
  std::vector<std::pair<core::ClientId, std::string>> handled;
  std::vector<std::string> log;
  std::vector<core::ClientId> closed;

 private:
  char buffer_[256 << 10];
};

class ConnectionTableTest : public ::testing::Test {
 protected:
  ConnectionTableTest() {
    ConnectionTableOptions options;
    options.budget.turn_ns = 1000;
    options.budget.round_ns = 2000;
    options.budget.now = [this] { return now_; };
    options.pause_reading_bytes = 1 << 20;
    options.max_queued_bytes = 8 << 20;
    table_.emplace(&loop_, &handler_, &sink_, std::move(options));
    handler_.table = &*table_;
    handler_.sink = &sink_;
    handler_.now = &now_;
  }
  // Adds a connection and returns its other end.
  UniqueFd Add(core::ClientId id) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    auto connection = std::make_unique<Connection>();
    connection->id = id;
    connection->fd.Reset(fds[0]);
    table_->Add(std::move(connection));
    return UniqueFd(fds[1]);
  }
  static void Send(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string Many(const std::string& message, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += message;
    return all;
  }
  void Rounds(int count) {
    for (int i = 0; i < count; ++i) loop_.RunOnce(0);
  }

  EventLoop loop_;
  int64_t now_ = 0;
  FakeSink sink_;
  FourBytes handler_;
  std::optional<ConnectionTable> table_;
};

TEST_F(ConnectionTableTest, MessagesMayArriveInPieces) {
  const UniqueFd peer = Add(1);
  Send(peer, "oneltw");
  Rounds(1);
  EXPECT_EQ(handler_.handled.size(), 1u);
  Send(peer, "o.");
  Rounds(1);
  ASSERT_EQ(handler_.handled.size(), 2u);
  EXPECT_EQ(handler_.handled[1].second, "two.");
}

TEST_F(ConnectionTableTest, AMessageWithoutMemoryEndsOnlyItsConnection) {
  const UniqueFd peer = Add(1);
  const UniqueFd other = Add(2);
  Send(peer, "onlyvast");
  Send(other, "word");
  Rounds(3);
  EXPECT_EQ(handler_.closed, std::vector<core::ClientId>{1});
  ASSERT_EQ(handler_.log.size(), 1u);
  EXPECT_NE(handler_.log[0].find("no memory"), std::string::npos);
  Send(other, "more");
  Rounds(2);
  EXPECT_EQ(handler_.HandledOf(2), 2u);
}

TEST_F(ConnectionTableTest, AFloodingConnectionDoesNotDelayOthers) {
  const UniqueFd flood = Add(1);
  const UniqueFd other = Add(2);
  Send(flood, Many("spam", 10000));
  Rounds(1);
  // The connection gets one turn when its data arrives and one at the end of
  // the round.
  EXPECT_EQ(handler_.HandledOf(1), 22u);
  Send(other, "word");
  Rounds(2);
  EXPECT_EQ(handler_.HandledOf(2), 1u);
  EXPECT_LE(handler_.HandledOf(1), 60u);
  Rounds(2000);
  EXPECT_EQ(handler_.HandledOf(1), 10000u);
}

TEST_F(ConnectionTableTest, ManyFloodingConnectionsHandleFewMessagesInARound) {
  std::vector<UniqueFd> floods;
  for (core::ClientId id = 1; id <= 50; ++id) {
    floods.push_back(Add(id));
    Send(floods.back(), Many("spam", 1000));
  }
  Rounds(10);
  // In each round, all connections together get at most two turns when data
  // arrives and two at the end.
  EXPECT_LE(handler_.handled.size(), 10u * 4u * 10u + 20u);
  const UniqueFd other = Add(99);
  Send(other, "word");
  Rounds(40);
  EXPECT_EQ(handler_.HandledOf(99), 1u);
}

TEST_F(ConnectionTableTest, AnInputReachesTheCoreBeforeTheNextMessage) {
  std::vector<size_t> handled;
  sink_.on_input = [&](const core::Input&) {
    handled.push_back(handler_.handled.size());
  };
  const UniqueFd peer = Add(1);
  Send(peer, "ask.one.ask.");
  Rounds(1);
  EXPECT_EQ(handled, (std::vector<size_t>{1, 3}));
}

TEST_F(ConnectionTableTest, MessagesAfterTheOneThatEndsAConnectionAreIgnored) {
  const UniqueFd peer = Add(1);
  Send(peer, "end.more");
  Rounds(2);
  EXPECT_EQ(handler_.handled.size(), 1u);
  EXPECT_EQ(handler_.log, std::vector<std::string>{"it asked for it"});
  EXPECT_EQ(handler_.closed, std::vector<core::ClientId>{1});
  EXPECT_EQ(table_->size(), 0u);
}

TEST_F(ConnectionTableTest, AConnectionIsClosedWhenItsPeerEnds) {
  UniqueFd first = Add(1);
  UniqueFd second = Add(2);
  Send(second, "on");
  Rounds(1);
  first.Reset();
  second.Reset();
  Rounds(2);
  EXPECT_EQ(handler_.closed.size(), 2u);
  EXPECT_EQ(handler_.log,
            std::vector<std::string>{"ended in the middle of a message"});
}

TEST_F(ConnectionTableTest, APeerThatDoesNotReadItsAnswersIsNotServed) {
  const UniqueFd peer = Add(1);
  Send(peer, Many("big.", 6));
  Rounds(20);
  // The socket has accepted a part of the answers. Above the limit of queued
  // answers, no more messages are handled.
  const size_t handled = handler_.handled.size();
  EXPECT_LT(handled, 6u);
  std::string got;
  char buffer[65536];
  for (int i = 0; i < 1000 && got.size() < size_t{6} << 20; ++i) {
    const ssize_t n = recv(peer.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) got.append(buffer, static_cast<size_t>(n));
    Rounds(1);
  }
  EXPECT_EQ(handler_.handled.size(), 6u);
  EXPECT_EQ(got.size(), size_t{6} << 20);
}

TEST_F(ConnectionTableTest, ADeadlineEndsTheConnectionUnlessCancelled) {
  const UniqueFd late = Add(1);
  const UniqueFd good = Add(2);
  table_->SetDeadline(*table_->Find(1), 0, "too late");
  table_->SetDeadline(*table_->Find(2), 0, "too late");
  table_->CancelDeadline(*table_->Find(2));
  loop_.RunOnce(1000);
  Rounds(1);
  EXPECT_EQ(handler_.closed, std::vector<core::ClientId>{1});
  EXPECT_EQ(handler_.log, std::vector<std::string>{"too late"});
}

TEST_F(ConnectionTableTest, ContinueHandlesMessagesThatWereAlreadyRead) {
  const UniqueFd peer = Add(1);
  table_->Find(1)->partial = "one.two.th";
  table_->Continue(*table_->Find(1));
  Rounds(1);
  EXPECT_EQ(handler_.handled.size(), 2u);
  EXPECT_EQ(table_->Find(1)->partial, "th");
}

TEST_F(ConnectionTableTest, NoMessageIsHandledWhileReadingIsOff) {
  UniqueFd peer = Add(1);
  table_->SetReading(*table_->Find(1), false);
  Send(peer, "one.");
  Rounds(3);
  EXPECT_TRUE(handler_.handled.empty());
  table_->SetReading(*table_->Find(1), true);
  Rounds(1);
  EXPECT_EQ(handler_.handled.size(), 1u);
}

}  // namespace
}  // namespace canopy::endpoint
