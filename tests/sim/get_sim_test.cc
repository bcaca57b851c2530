// Tests of gets over simulated agents: local, remote, held, refused, lost.
#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/why.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr size_t kDmodexRequest = 2;  // index in MessageBody

core::GetArrived Key(const ProcId& target, const std::string& key) {
  core::GetArrived get;
  get.target = target;
  get.key = key;
  return get;
}

core::GetArrived Immediate(core::GetArrived get) {
  get.immediate = true;
  return get;
}

core::GetArrived Within(core::GetArrived get, uint32_t timeout_ms) {
  get.timeout_ms = timeout_ms;
  return get;
}

core::GetArrived Refresh(core::GetArrived get) {
  get.refresh = true;
  return get;
}

// Agents 0, 1 and 2 have two ranks each.
class GetSim : public testing::Test {
 protected:
  GetSim() : cluster_(3, 2, 7) {
    cluster_.LaunchConnected(MakeJob("job", 3, 2));
  }
  ~GetSim() override {
    EXPECT_TRUE(cluster_.errors().empty()) << cluster_.errors().front();
  }

  void Commit(Rank rank, core::Scope scope, const std::string& key) {
    cluster_.clients().Commit({"job", rank}, scope, key, key + " value");
    cluster_.Run();
  }
  RequestId Get(Rank rank, core::GetArrived get) {
    const RequestId request =
        cluster_.clients().Get({"job", rank}, std::move(get));
    cluster_.Run();
    return request;
  }
  std::string Payload(RequestId request, const std::string& key) {
    return ValueOf(cluster_.clients().AnswerTo(request)->payload, key)
        .value_or("");
  }

  Cluster cluster_;
};

TEST_F(GetSim, LocalDataIsReadAtOnce) {
  Commit(0, core::Scope::kGlobal, "k");
  EXPECT_EQ(ValueOf(cluster_.segments().PublishedOf(0, {"job", 0}), "k"),
            "k value");
  const RequestId r = Get(1, Key({"job", 0}, "k"));
  EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  EXPECT_EQ(Payload(r, "k"), "k value");
  EXPECT_EQ(cluster_.observed().messages(kDmodexRequest), 0u);
}

TEST_F(GetSim, AnEmptyNamespaceDenotesTheCallersOwn) {
  Commit(0, core::Scope::kGlobal, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"", 0}, "k"))), kSuccess);
}

TEST_F(GetSim, AGetOfALocalRankWaitsForTheCommit) {
  const RequestId r = Get(1, Key({"job", 0}, "k"));
  Commit(0, core::Scope::kGlobal, "other");
  EXPECT_EQ(cluster_.clients().StatusOf(r), kUnanswered);
  Commit(0, core::Scope::kLocal, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
}

TEST_F(GetSim, DataOfARemoteGetIsPublishedForLaterGets) {
  const RequestId r = Get(0, Key({"job", 4}, "k"));
  EXPECT_EQ(cluster_.clients().StatusOf(r), kUnanswered);
  Commit(4, core::Scope::kRemote, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  EXPECT_EQ(Payload(r, "k"), "k value");
  EXPECT_EQ(ValueOf(cluster_.segments().PublishedOf(0, {"job", 4}), "k"),
            "k value");
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"job", 4}, "k"))),
            kSuccess);
  EXPECT_EQ(cluster_.observed().messages(kDmodexRequest), 1u);
}

TEST_F(GetSim, OneRequestServesAllWaitingGets) {
  const RequestId a = Get(0, Key({"job", 4}, "k"));
  const RequestId b = Get(1, Key({"job", 4}, "k"));
  EXPECT_EQ(cluster_.observed().messages(kDmodexRequest), 1u);
  Commit(4, core::Scope::kGlobal, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(a), kSuccess);
  EXPECT_EQ(cluster_.clients().StatusOf(b), kSuccess);
}

// A key that is never committed must not block a get of another key.
TEST_F(GetSim, AGetOfAMissingKeyDoesNotDelayAnotherGet) {
  Commit(4, core::Scope::kGlobal, "there");
  const RequestId a = Get(0, Key({"job", 4}, "never"));
  const RequestId b = Get(0, Key({"job", 4}, "there"));
  EXPECT_EQ(cluster_.clients().StatusOf(a), kUnanswered);
  EXPECT_EQ(cluster_.clients().StatusOf(b), kSuccess);
}

TEST_F(GetSim, AKeyOutsideItsScopeIsReportedAsOutside) {
  Commit(0, core::Scope::kRemote, "far");
  Commit(0, core::Scope::kLocal, "near");
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"job", 0}, "near"))),
            kSuccess);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"job", 0}, "far"))),
            kErrExistsOutsideScope);
  EXPECT_EQ(cluster_.segments().OutsideOf(0, {"job", 0}),
            std::vector<std::string>{"far"});
  EXPECT_EQ(cluster_.clients().StatusOf(Get(3, Key({"job", 0}, "far"))),
            kSuccess);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(3, Key({"job", 0}, "near"))),
            kErrExistsOutsideScope);
  EXPECT_EQ(cluster_.segments().OutsideOf(1, {"job", 0}),
            std::vector<std::string>{"near"});
}

TEST_F(GetSim, AnImmediateGetAnswersFromLocalData) {
  Commit(4, core::Scope::kGlobal, "k");
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Immediate(Key({"job", 4}, "k")))),
      kErrNotFound);
  EXPECT_EQ(cluster_.observed().messages(kDmodexRequest), 0u);
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(5, Immediate(Key({"job", 4}, "k")))),
      kSuccess);
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(5, Immediate(Key({"job", 4}, "x")))),
      kErrNotFound);
}

TEST_F(GetSim, TimeoutEndsTheWaitOnBothSides) {
  const RequestId a =
      cluster_.clients().Get({"job", 0}, Within(Key({"job", 4}, "k"), 50));
  const RequestId b =
      cluster_.clients().Get({"job", 5}, Within(Key({"job", 4}, "k"), 50));
  cluster_.RunFor(49 * kMs);
  EXPECT_EQ(cluster_.clients().StatusOf(a), kUnanswered);
  cluster_.RunFor(20 * kMs);
  EXPECT_EQ(cluster_.clients().StatusOf(a), kErrTimeout);
  EXPECT_EQ(cluster_.clients().StatusOf(b), kErrTimeout);
  // The next get sends a new request.
  const RequestId c = Get(0, Key({"job", 4}, "k"));
  Commit(4, core::Scope::kGlobal, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(c), kSuccess);
}

TEST_F(GetSim, ALaterGetOutlivesTheTimeoutOfTheFirst) {
  const RequestId a =
      cluster_.clients().Get({"job", 0}, Within(Key({"job", 4}, "k"), 50));
  cluster_.RunFor(10 * kMs);
  const RequestId b = cluster_.clients().Get({"job", 1}, Key({"job", 4}, "k"));
  cluster_.RunFor(200 * kMs);
  EXPECT_EQ(cluster_.clients().StatusOf(a), kErrTimeout);
  EXPECT_EQ(cluster_.clients().StatusOf(b), kUnanswered);
  Commit(4, core::Scope::kGlobal, "k");
  EXPECT_EQ(cluster_.clients().StatusOf(b), kSuccess);
}

TEST_F(GetSim, ARefreshFetchesTheNewValue) {
  cluster_.clients().Commit({"job", 4}, core::Scope::kGlobal, "k", "old");
  cluster_.Run();
  EXPECT_EQ(Payload(Get(0, Key({"job", 4}, "k")), "k"), "old");
  cluster_.clients().Commit({"job", 4}, core::Scope::kGlobal, "k", "new");
  cluster_.Run();
  EXPECT_EQ(Payload(Get(0, Key({"job", 4}, "k")), "k"), "old");
  EXPECT_EQ(Payload(Get(0, Refresh(Key({"job", 4}, "k"))), "k"), "new");
  EXPECT_EQ(ValueOf(cluster_.segments().PublishedOf(0, {"job", 4}), "k"),
            "new");
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Refresh(Key({"job", 4}, "none")))),
      kErrNotFound);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(0, Refresh(Key({"job", 2}, "k")))),
            kErrNotFound);
}

TEST_F(GetSim, AGetOfAnUndefinedRankFindsTheOwner) {
  const RequestId r = Get(1, Key({"job", kRankUndef}, "unique"));
  EXPECT_EQ(cluster_.clients().StatusOf(r), kUnanswered);
  EXPECT_EQ(cluster_.observed().messages(kDmodexRequest), 0u);
  Commit(0, core::Scope::kGlobal, "unique");
  EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  EXPECT_EQ(Payload(r, "unique"), "unique value");
  // From another node the key is available after a fence.
  const RequestId far = Get(4, Key({"job", kRankUndef}, "unique"));
  EXPECT_EQ(cluster_.clients().StatusOf(far), kUnanswered);
  for (Rank rank = 0; rank < 6; ++rank) {
    cluster_.clients().Fence({"job", rank}, {}, true);
  }
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(far), kSuccess);
}

TEST_F(GetSim, AGetOfAnImpossibleKeyFailsAtOnce) {
  EXPECT_EQ(cluster_.clients().StatusOf(Get(0, Key({"job", 17}, "k"))),
            kErrNotFound);
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Key({"job", kRankWildcard}, "k"))),
      kErrNotFound);
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Key({"job", kRankInvalid}, "k"))),
      kErrNotFound);
  // Reserved keys either exist from the start or never.
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Key({"job", 4}, "pmix.nothing"))),
      kErrNotFound);
  EXPECT_EQ(
      cluster_.clients().StatusOf(Get(0, Key({"job", 1}, "pmix.nothing"))),
      kErrNotFound);
}

TEST_F(GetSim, AGetWithoutAKeyReturnsAllDataOfARank) {
  EXPECT_EQ(cluster_.clients().StatusOf(Get(0, Key({"job", 1}, ""))),
            kErrNotFound);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(0, Key({"job", 4}, ""))),
            kErrNotFound);
  Commit(4, core::Scope::kGlobal, "a");
  Commit(4, core::Scope::kRemote, "b");
  Commit(4, core::Scope::kLocal, "c");
  const RequestId r = Get(0, Key({"job", 4}, ""));
  EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  EXPECT_EQ(Payload(r, "a"), "a value");
  EXPECT_EQ(Payload(r, "b"), "b value");
  EXPECT_EQ(Payload(r, "c"), "");
}

TEST_F(GetSim, EndOfTheTargetEndsTheWait) {
  cluster_.options().ignore_kills = true;
  const RequestId near = Get(5, Key({"job", 4}, "k"));
  const RequestId far = Get(0, Key({"job", 4}, "k"));
  cluster_.shims().Exit({"job", 4}, 11);
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(near), kErrNotFound);
  EXPECT_EQ(cluster_.clients().StatusOf(far), kErrNotFound);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"job", 4}, "k"))),
            kErrNotFound);
}

TEST_F(GetSim, CommittedDataOfADeadRankIsFound) {
  cluster_.options().ignore_kills = true;
  Commit(4, core::Scope::kGlobal, "k");
  cluster_.shims().Exit({"job", 4}, 11);
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(Get(0, Key({"job", 4}, "k"))),
            kSuccess);
}

TEST_F(GetSim, LossOfTheTargetsAgentFailsTheGet) {
  cluster_.options().ignore_kills = true;
  const RequestId r = Get(0, Key({"job", 4}, "k"));
  cluster_.KillNode(2);
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(r), kErrUnreach);
  EXPECT_EQ(cluster_.clients().StatusOf(Get(1, Key({"job", 5}, "k"))),
            kErrUnreach);
}

TEST_F(GetSim, LossOfTheCallersAgentDropsItsRequests) {
  cluster_.options().ignore_kills = true;
  Get(4, Key({"job", 0}, "k"));
  cluster_.KillNode(2);
  cluster_.Run();
  cluster_.Input(0, core::StateRequested{1, "why", ""});
  cluster_.Run();
  for (const auto& state : cluster_.observed().states()) {
    if (state.done) continue;
    const auto answer = core::DecodeStateAnswer(state.answer.view());
    ASSERT_TRUE(answer.ok());
    for (const core::Waiting& waiting : answer->waiting) {
      EXPECT_FALSE(waiting.operation.starts_with("get")) << waiting.operation;
    }
  }
}

TEST_F(GetSim, MalformedDataClosesOnlyItsConnection) {
  cluster_.Input(0, core::Committed{cluster_.clients().IdOf({"job", 0}),
                                    cluster_.clients().NewRequest(),
                                    {{core::Scope::kGlobal, Bytes("\x7f")}}});
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().closed(),
            std::vector<ClientId>{cluster_.clients().IdOf({"job", 0})});
}

// Jobs on different parts of the cluster.
class OtherNamespace : public testing::Test {
 protected:
  OtherNamespace() : cluster_(15, 2, 3) {
    cluster_.LaunchConnected(MakeJob("a", std::vector<NodeId>{7, 8}));
    cluster_.LaunchConnected(MakeJob("b", std::vector<NodeId>{13, 14}));
  }
  ~OtherNamespace() override {
    EXPECT_TRUE(cluster_.errors().empty()) << cluster_.errors().front();
  }

  Cluster cluster_;
};

TEST_F(OtherNamespace, DataAndJobDataCanBeRead) {
  EXPECT_FALSE(cluster_.segments().IsRegistered(7, "b"));
  const RequestId job = cluster_.clients().Get(
      {"a", 0}, Immediate(Key({"b", kRankWildcard}, "pmix.job.size")));
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(job), kSuccess);
  EXPECT_TRUE(cluster_.segments().IsRegistered(7, "b"));
  const RequestId data = cluster_.clients().Get({"a", 0}, Key({"b", 1}, "k"));
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(data), kUnanswered);
  cluster_.clients().Commit({"b", 1}, core::Scope::kGlobal, "k", "value");
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(data), kSuccess);
  EXPECT_EQ(ValueOf(cluster_.segments().PublishedOf(7, {"b", 1}), "k"),
            "value");
}

TEST_F(OtherNamespace, AJobUnknownEverywhereIsNotFound) {
  const RequestId r = cluster_.clients().Get({"a", 0}, Key({"c", 0}, "k"));
  const RequestId s = cluster_.clients().Fence({"a", 0}, {{"a", 0}, {"c", 0}});
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(r), kErrNotFound);
  EXPECT_EQ(cluster_.clients().StatusOf(s), kErrNotFound);
}

TEST_F(OtherNamespace, ABorrowedMapIsDroppedWithTheJob) {
  cluster_.clients().Get({"a", 0}, Key({"b", kRankWildcard}, "pmix.job.size"));
  const RequestId held = cluster_.clients().Get({"a", 1}, Key({"b", 1}, "k"));
  cluster_.Run();
  EXPECT_TRUE(cluster_.segments().IsRegistered(7, "b"));
  for (Rank r = 0; r < 2; ++r) {
    cluster_.Input(13 + r,
                   core::FinalizeArrived{cluster_.clients().IdOf({"b", r}),
                                         cluster_.clients().NewRequest()});
    cluster_.Run();
    cluster_.shims().Exit({"b", r}, 0);
  }
  cluster_.RunFor(60'000 * kMs);
  EXPECT_FALSE(cluster_.segments().IsRegistered(7, "b"));
  EXPECT_FALSE(cluster_.segments().IsRegistered(13, "b"));
  EXPECT_NE(cluster_.clients().StatusOf(held), kUnanswered);
  const RequestId late = cluster_.clients().Get({"a", 0}, Key({"b", 1}, "k"));
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(late), kErrNotFound);
}

TEST_F(OtherNamespace, ConnectedJobsCanFenceAndDisconnect) {
  const std::vector<ProcId> all = {{"b", kRankWildcard}, {"a", kRankWildcard}};
  const std::vector<ProcId> everyone = {{"a", 0}, {"a", 1}, {"b", 0}, {"b", 1}};
  const auto collective = [&](core::CollectiveOp op) {
    std::vector<RequestId> requests;
    for (const ProcId& p : everyone) {
      requests.push_back(cluster_.clients().Collective(op, p, all));
      cluster_.Run();
    }
    return requests;
  };
  for (const RequestId r : collective(core::CollectiveOp::kDisconnect)) {
    EXPECT_EQ(cluster_.clients().StatusOf(r), kErrInvalidOperation);
  }
  for (const RequestId r : collective(core::CollectiveOp::kConnect)) {
    EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  }
  EXPECT_TRUE(cluster_.segments().IsRegistered(8, "b"));
  EXPECT_TRUE(cluster_.segments().IsRegistered(14, "a"));
  std::vector<RequestId> fences;
  for (const ProcId& p : everyone) {
    cluster_.clients().Commit(p, core::Scope::kGlobal, "k", ToString(p));
    fences.push_back(cluster_.clients().Fence(p, all, true));
  }
  cluster_.Run();
  for (const RequestId r : fences)
    EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  for (const NodeId node : {7u, 8u, 13u, 14u}) {
    for (const ProcId& p : everyone) {
      EXPECT_EQ(ValueOf(cluster_.segments().PublishedOf(node, p), "k"),
                ToString(p));
    }
  }
  for (const RequestId r : collective(core::CollectiveOp::kDisconnect)) {
    EXPECT_EQ(cluster_.clients().StatusOf(r), kSuccess);
  }
  for (const RequestId r : collective(core::CollectiveOp::kDisconnect)) {
    EXPECT_EQ(cluster_.clients().StatusOf(r), kErrInvalidOperation);
  }
}

}  // namespace
}  // namespace canopy::sim
