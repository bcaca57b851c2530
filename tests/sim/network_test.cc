#include "tests/sim/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace canopy::sim {
namespace {

class NetworkTest : public testing::Test {
 protected:
  NetworkTest()
      : random_(1, options_),
        members_(7, 2, queue_, random_),
        network_(options_, members_, queue_, random_) {}

  // The number distinguishes messages.
  void Send(NodeId from, NodeId to, uint64_t number, bool stream = false) {
    core::PeerMessage message;
    message.src = from;
    message.dst = to;
    if (stream) {
      message.body = core::OutputCredit{"job", {}, number};
    } else {
      core::StateQuery query;
      query.request = number;
      message.body = query;
    }
    network_.Send(std::move(message));
  }
  // Returns the numbers of the messages received, in order.
  std::vector<uint64_t> ReceiveAll() {
    std::vector<uint64_t> out;
    while (std::optional<Event> event = queue_.Take()) {
      const auto* transit = std::get_if<InTransit>(&*event);
      if (transit == nullptr || !network_.Delivers(*transit)) continue;
      const auto* query = std::get_if<core::StateQuery>(&transit->message.body);
      out.push_back(query == nullptr ? 0 : query->request);
    }
    return out;
  }
  static std::vector<uint64_t> Numbers(uint64_t end) {
    std::vector<uint64_t> out;
    for (uint64_t n = 0; n < end; ++n) out.push_back(n);
    return out;
  }

  Options options_;
  Random random_;
  EventQueue queue_;
  Membership members_;
  Network network_;
};

TEST_F(NetworkTest, MessagesBetweenTwoAgentsStayInOrder) {
  for (uint64_t n = 0; n < 50; ++n) Send(3, 0, n);
  EXPECT_EQ(ReceiveAll(), Numbers(50));
}

TEST_F(NetworkTest, DataMayArriveInAnotherOrder) {
  options_.overtaking = 2;
  for (uint64_t n = 0; n < 50; ++n) Send(3, 0, n);
  std::vector<uint64_t> received = ReceiveAll();
  EXPECT_NE(received, Numbers(50));
  std::ranges::sort(received);
  EXPECT_EQ(received, Numbers(50)) << "none is lost";
}

TEST_F(NetworkTest, OnlyDataIsDuplicated) {
  options_.duplicates = 1;
  for (uint64_t n = 0; n < 10; ++n) Send(3, 0, n);
  EXPECT_EQ(ReceiveAll().size(), 20u);
  for (uint64_t n = 0; n < 10; ++n) Send(3, 0, n, /*stream=*/true);
  EXPECT_EQ(ReceiveAll().size(), 10u);
}

TEST_F(NetworkTest, AStallDelaysMessagesOverTheLink) {
  network_.Stall(1, 100 * kMs);
  Send(3, 0, 1);
  Send(3, 4, 2);
  EXPECT_EQ(ReceiveAll(), (std::vector<uint64_t>{2, 1}))
      << "the way from 3 to 4 does not cross the link above 1";
  EXPECT_EQ(queue_.now(), 100 * kMs);
}

TEST_F(NetworkTest, NoMessageCrossesAPartition) {
  network_.Partition({5, 6});
  Send(0, 5, 1);
  Send(5, 6, 2);
  EXPECT_EQ(ReceiveAll(), (std::vector<uint64_t>{2}));
  EXPECT_EQ(network_.Heal(), (std::vector<NodeId>{5, 6}));
  Send(0, 5, 3);
  EXPECT_EQ(ReceiveAll(), (std::vector<uint64_t>{3}));
}

TEST_F(NetworkTest, AnUnlinkedMemberSendsNothing) {
  network_.Unlink(3);
  Send(3, 0, 1);
  network_.Relink();
  Send(3, 0, 2);
  EXPECT_EQ(ReceiveAll(), (std::vector<uint64_t>{2}));
}

TEST_F(NetworkTest, MessagesThroughALostAgentMayBeLost) {
  for (uint64_t n = 0; n < 40; ++n) Send(3, 0, n);
  for (uint64_t n = 100; n < 110; ++n) Send(2, 0, n);
  network_.OnLoss(members_.Lose(1));
  for (uint64_t n = 40; n < 80; ++n) Send(3, 0, n);
  std::vector<uint64_t> received = ReceiveAll();
  EXPECT_EQ(std::erase_if(received, [](uint64_t n) { return n >= 100; }), 10)
      << "another route";
  EXPECT_GT(received.size(), 0u);
  EXPECT_LT(received.size(), 80u);
}

TEST_F(NetworkTest, ARestartDropsMessagesInTransit) {
  Send(3, 1, 1);
  Send(1, 3, 2);
  network_.OnRestart(1);
  members_.Restart(1);
  EXPECT_TRUE(ReceiveAll().empty());
  Send(1, 3, 3);
  EXPECT_EQ(ReceiveAll(), (std::vector<uint64_t>{3}));
}

}  // namespace
}  // namespace canopy::sim
