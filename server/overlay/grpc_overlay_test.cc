#include "server/overlay/grpc_overlay.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/overlay/overlay_testing.h"
#include "server/rpc/driver_choice.h"

// gRPC calls this function for every wait.
extern int (*grpc_poll_function)(pollfd* fds, nfds_t count, int timeout_ms);

namespace canopy::overlay {
namespace {

core::PeerMessage Note(NodeId to, uint64_t number) {
  return {kNoNode, to, core::OutputCredit{"job", number}};
}

uint64_t NumberOf(const core::PeerMessage& message) {
  return std::get<core::OutputCredit>(message.body).bytes;
}

std::string Pattern(size_t size) {
  std::string s(size, '\0');
  uint32_t x = 1;
  for (char& c : s) {
    x = x * 1664525 + 1013904223;
    c = static_cast<char>(x >> 24);
  }
  return s;
}

bool Has(const std::vector<core::NodeStateChanged>& states, NodeId node,
         bool up) {
  return std::any_of(states.begin(), states.end(), [&](const auto& s) {
    return s.node == node && s.up == up;
  });
}

TEST(GrpcOverlayTest, ASingleMemberIsReady) {
  TestCluster cluster(1);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  EXPECT_EQ(cluster.overlay(0).root(), 0u);
  EXPECT_GT(cluster.overlay(0).port(), 0);
}

thread_local int grpc_polls = 0;
int (*poll_of_the_queue)(pollfd* fds, nfds_t count, int timeout_ms) = nullptr;

int CountedPoll(pollfd* fds, nfds_t count, int timeout_ms) {
  ++grpc_polls;
  return poll_of_the_queue(fds, count, timeout_ms);
}

// Returns how many times a member's loop enters gRPC's poll in ten rounds.
int PollsOf(TestCluster* cluster) {
  grpc_polls = 0;
  for (int i = 0; i < 10; ++i) cluster->node(0).loop.RunOnce(0);
  return grpc_polls;
}

TEST(GrpcOverlayTest, OnlyAnOverlayWithLinksPollsInGrpc) {
  if (rpc::ChooseDriver().kind != rpc::DriverKind::kInLoop) {
    GTEST_SKIP() << "a thread serves the links";
  }
  TestCluster one(1);
  TestCluster two(2);
  poll_of_the_queue = std::exchange(grpc_poll_function, CountedPoll);
  one.StartAll();
  two.StartAll();
  EXPECT_EQ(PollsOf(&one), 0);
  EXPECT_GT(PollsOf(&two), 0);
  grpc_poll_function = poll_of_the_queue;
}

class SizesTest : public testing::TestWithParam<uint32_t> {};

TEST_P(SizesTest, EveryMemberReachesEveryOther) {
  TestCluster cluster(GetParam());
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  const uint32_t n = cluster.size();
  for (NodeId from = 0; from < n; ++from) {
    for (NodeId to = 0; to < n; ++to) {
      if (from != to) cluster.overlay(from).Send(Note(to, from));
    }
  }
  ASSERT_TRUE(cluster.WaitFor([&] {
    for (NodeId id = 0; id < n; ++id) {
      if (cluster.node(id).sink.messages.size() < n - 1) return false;
    }
    return true;
  }));
  for (NodeId id = 0; id < n; ++id) {
    std::vector<bool> seen(n);
    for (const auto& m : cluster.node(id).sink.messages) {
      EXPECT_EQ(m.dst, id);
      EXPECT_EQ(NumberOf(m), m.src);
      EXPECT_FALSE(seen[m.src]);
      seen[m.src] = true;
    }
    EXPECT_TRUE(cluster.node(id).sink.states.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SizesTest, testing::Values(2, 3, 4, 7));

TEST(GrpcOverlayTest, ReadyIsReportedOnceAndProgressIncreases) {
  TestCluster cluster(4);
  cluster.Start(0);
  cluster.overlay(0).Join();
  ASSERT_TRUE(cluster.WaitFor(
      [&] { return cluster.node(0).progress == std::vector<uint32_t>{1}; }));
  for (NodeId id = 1; id < 4; ++id) cluster.Start(id);
  for (NodeId id = 1; id < 4; ++id) cluster.overlay(id).Join();
  ASSERT_TRUE(cluster.AllReady());
  EXPECT_EQ(cluster.node(0).ready, 1);
  EXPECT_EQ(cluster.node(0).progress.back(), 4u);
  EXPECT_TRUE(std::is_sorted(cluster.node(0).progress.begin(),
                             cluster.node(0).progress.end()));
}

TEST(GrpcOverlayTest, MessagesSentBeforeTheLinkIsUpArriveInOrder) {
  TestCluster cluster(3);
  for (NodeId id = 0; id < 3; ++id) cluster.Start(id);
  for (uint64_t i = 0; i < 1000; ++i) cluster.overlay(2).Send(Note(1, i));
  for (NodeId id = 0; id < 3; ++id) cluster.overlay(id).Join();
  auto& got = cluster.node(1).sink.messages;
  ASSERT_TRUE(cluster.WaitFor([&] { return got.size() == 1000; }));
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(NumberOf(got[i]), i);
}

TEST(GrpcOverlayTest, SmallMessagesOvertakeALargeOne) {
  TestCluster cluster(4);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  const std::string data = Pattern(size_t{20} << 20);
  cluster.overlay(3).Send(
      {kNoNode, 2, core::DmodexReply{1, 0, {"job", 1}, Bytes(data)}});
  for (uint64_t i = 0; i < 20; ++i) cluster.overlay(3).Send(Note(2, i));
  auto& got = cluster.node(2).sink.messages;
  ASSERT_TRUE(cluster.WaitFor([&] { return got.size() == 21; }));
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(NumberOf(got[i]), i);
  EXPECT_TRUE(std::get<core::DmodexReply>(got[20].body).data.view() == data);
}

TEST(GrpcOverlayTest, SmallMessagesArriveBetweenThePiecesOfALargeOne) {
  TestCluster cluster(2);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  const std::string data = Pattern(size_t{20} << 20);
  bool large_done = false;
  int echoes = 0;
  cluster.node(0).sink.on_message = [&](const core::PeerMessage& m) {
    if (std::holds_alternative<core::DmodexReply>(m.body)) {
      large_done = true;
    } else if (!large_done) {
      ++echoes;
      cluster.overlay(0).Send(Note(1, 0));
    }
  };
  cluster.node(1).sink.on_message = [&](const core::PeerMessage&) {
    cluster.overlay(1).Send(Note(0, 0));
  };
  cluster.overlay(1).Send(
      {kNoNode, 0, core::DmodexReply{1, 0, {"job", 1}, Bytes(data)}});
  cluster.overlay(0).Send(Note(1, 0));
  ASSERT_TRUE(cluster.WaitFor([&] { return large_done; }));
  EXPECT_GE(echoes, 1);
}

TEST(GrpcOverlayTest, AMessageOverTheLimitArrivesAsAnError) {
  TestCluster cluster(2);
  cluster.base().message_limit_bytes = 1 << 20;
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.overlay(1).Send(
      {kNoNode, 0,
       core::DmodexReply{9, 0, {"job", 1}, Bytes(Pattern(2 << 20))}});
  auto& got = cluster.node(0).sink.messages;
  ASSERT_TRUE(cluster.WaitFor([&] { return got.size() == 1; }));
  const auto& reply = std::get<core::DmodexReply>(got[0].body);
  EXPECT_EQ(reply.status, kErrOutOfResource);
  EXPECT_EQ(reply.request, 9u);
  EXPECT_TRUE(reply.data.empty());
}

void ExpectWrongKey(security::SecurityMode mode) {
  TestCluster cluster(2);
  cluster.base().security.mode = mode;
  cluster.Start(0);
  cluster.Start(1, [](OverlayConfig* config) {
    config->security.key = *security::ClusterKey::FromHex(std::string(64, '8'));
  });
  cluster.overlay(0).Join();
  cluster.overlay(1).Join();
  auto& link_errors = cluster.node(1).link_errors;
  ASSERT_TRUE(cluster.WaitFor([&] { return !link_errors.empty(); }));
  EXPECT_EQ(link_errors[0].first, 0u);
  EXPECT_EQ(link_errors[0].second.code(), kErrInvalidCred);
  EXPECT_EQ(link_errors[0].second.message(),
            "cluster key differs from that of node0");
  EXPECT_EQ(cluster.overlay(0).members_up(), 1u);
  EXPECT_EQ(cluster.overlay(1).members_up(), 1u);
}

TEST(GrpcOverlayTest, AWrongKeyIsRejectedInPlaintext) {
  ExpectWrongKey(security::SecurityMode::kPlaintext);
}

TEST(GrpcOverlayTest, AWrongKeyIsRejectedWithTls) {
  ExpectWrongKey(security::SecurityMode::kDerived);
}

TEST(GrpcOverlayTest, MembersLinkWithDerivedTls) {
  TestCluster cluster(3);
  cluster.base().security.mode = security::SecurityMode::kDerived;
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.overlay(1).Send(Note(2, 5));
  auto& got = cluster.node(2).sink.messages;
  ASSERT_TRUE(cluster.WaitFor([&] { return got.size() == 1; }));
  EXPECT_EQ(got[0].src, 1u);
}

TEST(GrpcOverlayTest, AMemberOfAnotherOverlayIsRejected) {
  TestCluster cluster(2);
  cluster.Start(0);
  cluster.Start(1, [](OverlayConfig* c) { c->overlay_id = "another"; });
  cluster.overlay(1).Join();
  auto& link_errors = cluster.node(1).link_errors;
  ASSERT_TRUE(cluster.WaitFor([&] { return !link_errors.empty(); }));
  EXPECT_EQ(link_errors[0].second.code(), kErrHandshakeFailed);
  EXPECT_EQ(link_errors[0].second.message(),
            "node0 belongs to another overlay");
}

TEST(GrpcOverlayTest, SuccessiveVersionsInteroperate) {
  for (const bool parent_newer : {false, true}) {
    TestCluster cluster(2);
    cluster.Start(0, [&](OverlayConfig* c) { c->version += parent_newer; });
    cluster.Start(1, [&](OverlayConfig* c) { c->version += !parent_newer; });
    cluster.overlay(0).Join();
    cluster.overlay(1).Join();
    ASSERT_TRUE(cluster.AllReady());
    cluster.overlay(0).Send(Note(1, 1));
    ASSERT_TRUE(cluster.WaitFor(
        [&] { return !cluster.node(1).sink.messages.empty(); }));
  }
}

TEST(GrpcOverlayTest, AMemberWithoutACommonProtocolVersionIsRejected) {
  TestCluster cluster(2);
  cluster.Start(0);
  cluster.Start(1, [](OverlayConfig* c) {
    c->version = kNewestVersion + 2;
    c->oldest_version = kNewestVersion + 1;
  });
  cluster.overlay(1).Join();
  auto& link_errors = cluster.node(1).link_errors;
  ASSERT_TRUE(cluster.WaitFor([&] { return !link_errors.empty(); }));
  EXPECT_EQ(link_errors[0].second.message(),
            "node1 speaks overlay protocol version " +
                std::to_string(kNewestVersion + 1) + " to " +
                std::to_string(kNewestVersion + 2) + ", node0 speaks " +
                std::to_string(kNewestVersion));
}

TEST(GrpcOverlayTest, AnUnreachableParentIsReportedAndLinkedLater) {
  TestCluster cluster(2);
  cluster.Start(0);
  const std::string address = cluster.overlay(0).address();
  cluster.Kill(0);
  cluster.Start(1, [&](OverlayConfig* c) { c->members[0].address = address; });
  cluster.overlay(1).SetAddress(0, address);
  cluster.overlay(1).Join();
  auto& link_errors = cluster.node(1).link_errors;
  ASSERT_TRUE(cluster.WaitFor([&] { return !link_errors.empty(); }));
  EXPECT_EQ(link_errors[0].second.code(), kErrUnreach);
  EXPECT_NE(link_errors[0].second.message().find(address), std::string::npos);
  cluster.Start(0, [&](OverlayConfig* c) { c->listen = address; });
  cluster.overlay(0).Join();
  EXPECT_TRUE(cluster.AllReady());
}

TEST(GrpcOverlayTest, ListenFailsOnAPortInUse) {
  TestCluster cluster(2);
  cluster.Start(0);
  OverlayConfig config = cluster.base();
  config.self = 1;
  config.listen = cluster.overlay(0).address();
  FakeSink sink;
  const auto second = MakeGrpcOverlay(&cluster.loop(), &sink, config, {});
  EXPECT_EQ(second->Listen().code(), kErrUnreach);
}

// Kills `victim` and expects that all other members detect it and can still
// reach each other.
void ExpectHealed(uint32_t size, NodeId victim) {
  TestCluster cluster(size);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.Kill(victim);
  ASSERT_TRUE(cluster.WaitFor([&] {
    for (NodeId id = 0; id < size; ++id) {
      if (id != victim && !Has(cluster.node(id).sink.states, victim, false)) {
        return false;
      }
    }
    return true;
  })) << "victim "
      << victim;
  for (NodeId from = 0; from < size; ++from) {
    for (NodeId to = 0; to < size; ++to) {
      if (from == to || from == victim || to == victim) continue;
      cluster.overlay(from).Send(Note(to, from));
    }
  }
  ASSERT_TRUE(cluster.WaitFor([&] {
    for (NodeId id = 0; id < size; ++id) {
      if (id == victim) continue;
      if (cluster.node(id).sink.messages.size() < size - 2) return false;
    }
    return true;
  })) << "victim "
      << victim;
  for (NodeId id = 0; id < size; ++id) {
    if (id == victim) continue;
    EXPECT_EQ(cluster.node(id).sink.states.size(), 1u);
    EXPECT_TRUE(cluster.node(id).expelled.empty());
    EXPECT_EQ(cluster.overlay(id).root(), victim == 0 ? 1u : 0u);
  }
}

TEST(GrpcOverlayTest, TheOverlaySurvivesTheLossOfALeaf) { ExpectHealed(7, 6); }
TEST(GrpcOverlayTest, TheOverlaySurvivesTheLossOfAnInteriorMember) {
  ExpectHealed(7, 1);
}
TEST(GrpcOverlayTest, TheOverlaySurvivesTheLossOfTheRoot) {
  ExpectHealed(7, 0);
}

TEST(GrpcOverlayTest, ALostLeafThatReturnsGetsMessagesAgain) {
  TestCluster cluster(3);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.Kill(2);
  auto& states = cluster.node(1).sink.states;
  ASSERT_TRUE(cluster.WaitFor([&] { return Has(states, 2, false); }));
  cluster.Start(2);
  cluster.overlay(2).Join();
  ASSERT_TRUE(cluster.WaitFor([&] { return Has(states, 2, true); }));
  cluster.overlay(1).Send(Note(2, 3));
  cluster.node(2).sink.messages.clear();
  ASSERT_TRUE(
      cluster.WaitFor([&] { return !cluster.node(2).sink.messages.empty(); }));
}

TEST(GrpcOverlayTest, AReturningInteriorMemberGetsItsFormerChildren) {
  TestCluster cluster(7);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.Kill(1);
  ASSERT_TRUE(cluster.WaitFor([&] {
    return Has(cluster.node(3).sink.states, 1, false) &&
           Has(cluster.node(6).sink.states, 1, false);
  }));
  cluster.Start(1);
  cluster.overlay(1).Join();
  ASSERT_TRUE(cluster.WaitFor([&] {
    return Has(cluster.node(3).sink.states, 1, true) &&
           Has(cluster.node(6).sink.states, 1, true);
  }));
  for (uint64_t i = 0; i < 100; ++i) cluster.overlay(6).Send(Note(3, i));
  auto& got = cluster.node(3).sink.messages;
  ASSERT_TRUE(cluster.WaitFor([&] { return got.size() == 100; }));
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(NumberOf(got[i]), i);
}

TEST(GrpcOverlayTest, AReturningRootGetsMessagesAgain) {
  TestCluster cluster(4);
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.Kill(0);
  ASSERT_TRUE(cluster.WaitFor(
      [&] { return Has(cluster.node(3).sink.states, 0, false); }));
  EXPECT_EQ(cluster.overlay(3).root(), 1u);
  cluster.Start(0);
  cluster.overlay(0).Join();
  ASSERT_TRUE(cluster.WaitFor(
      [&] { return Has(cluster.node(3).sink.states, 0, true); }));
  cluster.overlay(3).Send(Note(0, 1));
  ASSERT_TRUE(
      cluster.WaitFor([&] { return !cluster.node(0).sink.messages.empty(); }));
  EXPECT_EQ(cluster.overlay(3).root(), 0u);
}

TEST(GrpcOverlayTest, AQuickRestartIsReportedAsALossAndAReturn) {
  TestCluster cluster(3);
  cluster.base().grace_ms = 5000;
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  cluster.Kill(1);
  cluster.Start(1);
  cluster.overlay(1).Join();
  auto& states = cluster.node(2).sink.states;
  ASSERT_TRUE(cluster.WaitFor([&] { return states.size() == 2; }));
  EXPECT_FALSE(states[0].up);
  EXPECT_TRUE(states[1].up);
}

TEST(GrpcOverlayTest, AMemberThatLeavesIsReportedDownAtOnce) {
  TestCluster cluster(4);
  cluster.base().grace_ms = 60000;
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  bool left = false;
  for (uint64_t i = 0; i < 100; ++i) cluster.overlay(1).Send(Note(3, i));
  cluster.overlay(1).Leave([&] { left = true; });
  ASSERT_TRUE(cluster.WaitFor([&] { return left; }));
  cluster.Kill(1);
  for (const NodeId id : {0u, 2u, 3u}) {
    auto& states = cluster.node(id).sink.states;
    ASSERT_TRUE(cluster.WaitFor([&] { return Has(states, 1, false); }));
    EXPECT_EQ(states[0].reason, "left the overlay");
  }
  EXPECT_EQ(cluster.node(3).sink.messages.size(), 100u);
}

TEST(GrpcOverlayTest, MembersThatLeaveTogetherDoNotWaitForEachOther) {
  TestCluster cluster(4);
  cluster.base().leave_ms = 600000;
  cluster.StartAll();
  ASSERT_TRUE(cluster.AllReady());
  int left = 0;
  for (NodeId id = 0; id < 4; ++id) cluster.overlay(id).Leave([&] { ++left; });
  EXPECT_TRUE(cluster.WaitFor([&] { return left == 4; }));
}

}  // namespace
}  // namespace canopy::overlay
