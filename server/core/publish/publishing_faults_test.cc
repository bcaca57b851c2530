// Tests of publications and lookups while agents are lost, return or are
// restarted, after any number of messages.
#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/publish/publishing_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
using Values = std::map<std::string, std::string>;

const ProcId kA0{"a", 0};  // on agent 0
const ProcId kB0{"b", 0};  // on agent 1

// Agents 2 and 3 have no processes.
class PublishingFaultsTest : public testing::Test {
 protected:
  PublishingFaultsTest() { Fill(agents_); }
  static void Fill(PublishingAgents& agents) {
    agents.AddJob("a", {0});
    agents.AddJob("b", {1});
  }
  // Returns a key whose owner is `owner` and whose second home is `second`.
  std::string KeyAt(NodeId owner, NodeId second) const {
    std::string key = "k";
    for (;;) {
      const KeyHomes homes = HomesOf(key, agents_.tree(0));
      if (homes.owner == owner && homes.second == second) return key;
      key += "k";
    }
  }
  static Infos Data(const std::string& key, Persistence persistence) {
    return Persisting(persistence).Text(key, "value");
  }
  PublishingAgents agents_{4};
};

TEST_F(PublishingFaultsTest, PublicationsSurviveTheLossOfTheirOwner) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, key, "value"), kSuccess);
  agents_.Lose(2);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).values, (Values{{key, "value"}}));
  EXPECT_EQ(agents_.Publish(kB0, key, "other"), kErrDuplicateKey);
  agents_.Return(2);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).values, (Values{{key, "value"}}));
  EXPECT_EQ(agents_.Unpublish(kA0, {key}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
  agents_.Lose(2);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
}

TEST_F(PublishingFaultsTest, AnOwnerThatReturnsRejectsDuplicateKeys) {
  const std::string key = KeyAt(2, 3);
  agents_.Lose(2);
  ASSERT_EQ(agents_.Publish(kA0, key, "value"), kSuccess);
  agents_.Return(2);
  EXPECT_EQ(agents_.Publish(kB0, key, "other"), kErrDuplicateKey);
  agents_.Restart(2);
  EXPECT_EQ(agents_.Publish(kB0, key, "other"), kErrDuplicateKey);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kSuccess);
}

// Agent 3 refuses the publication, and another agent is the owner when the
// refusal arrives. A second copy of the offer arrives when the key is free
// again.
TEST_F(PublishingFaultsTest, ARepeatedOfferOfARefusedPublicationIsIgnored) {
  const std::string key = KeyAt(2, 3);
  agents_.Lose(2);
  ASSERT_EQ(agents_.Publish(kB0, key, "value"), kSuccess);
  const RequestId refused =
      agents_.BeginPublish(kA0, Infos().Text(key, "other").Take());
  ASSERT_EQ(agents_.wire().size(), 1u);
  const PeerMessage offer = agents_.wire().front();
  ASSERT_EQ(offer.dst, 3u);
  ASSERT_TRUE(agents_.RunOne());
  agents_.Return(2);
  ASSERT_EQ(agents_.StatusOf(refused), kErrDuplicateKey);
  ASSERT_EQ(agents_.Unpublish(kB0, {key}), kSuccess);
  agents_.Repeat(offer);
  EXPECT_EQ(agents_.publications(), 0u);
}

TEST_F(PublishingFaultsTest, PublicationsSurviveTheRestartOfTheSteward) {
  for (const NodeId owner : {0u, 1u, 2u}) {
    const std::string key = KeyAt(owner, 3);
    ASSERT_EQ(agents_.Publish(kA0, key, "value"), kSuccess);
    agents_.Restart(0);
    EXPECT_EQ(agents_.Lookup(kB0, {key}).values, (Values{{key, "value"}}));
    EXPECT_EQ(agents_.Publish(kB0, key, "x"), kErrDuplicateKey);
    EXPECT_EQ(agents_.Unpublish(kA0, {key}), kSuccess);
    EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
    EXPECT_EQ(agents_.Publish(kB0, key, "x"), kSuccess);
  }
}

TEST_F(PublishingFaultsTest, DataOfLocalRangeSurvivesTheRestartOfTheAgent) {
  agents_.Publish(kA0, Infos().Range(PMIX_RANGE_LOCAL).Text("l", "value"));
  agents_.Restart(0);
  EXPECT_EQ(agents_.Lookup(kA0, {"l"}).status, kSuccess);
}

TEST_F(PublishingFaultsTest, DataOfAJobEndsWithThePublishersNode) {
  const std::string app = KeyAt(2, 3);
  const std::string session = KeyAt(3, 2);
  ASSERT_EQ(agents_.Publish(kA0, Data(app, Persistence::kApp)), kSuccess);
  ASSERT_EQ(agents_.Publish(kA0, Data(session, Persistence::kSession)),
            kSuccess);
  agents_.Lose(0);
  EXPECT_EQ(agents_.Lookup(kB0, {app}).status, kErrNotFound);
  EXPECT_EQ(agents_.Lookup(kB0, {session}).status, kSuccess);
  // The publication has a steward and a second copy again, so it survives
  // another loss.
  agents_.Lose(3);
  EXPECT_EQ(agents_.Lookup(kB0, {session}).status, kSuccess);
  agents_.Lose(2);
  EXPECT_EQ(agents_.Lookup(kB0, {session}).status, kSuccess);
  agents_.Return(3);
  EXPECT_EQ(agents_.Lookup(kB0, {session}).status, kSuccess);
  EXPECT_EQ(agents_.Publish(kB0, session, "x"), kErrDuplicateKey);
  EXPECT_EQ(agents_.publications(), 0u);
}

// Agent 2 declares the publisher's agent lost although it is alive. Of the two
// stewards, the publisher's agent remains.
TEST_F(PublishingFaultsTest,
       ThePublishersAgentRemainsTheStewardAfterAPartition) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kSession)), kSuccess);
  agents_.Part(0, 2);
  agents_.Join(0, 2);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kSuccess);
  EXPECT_EQ(agents_.Unpublish(kA0, {key}), kSuccess);
  for (const NodeId node : {2u, 3u}) {
    EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound) << node;
    agents_.Lose(node);
  }
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
}

TEST_F(PublishingFaultsTest, AFirstReadPublicationEndsWithThePublishersNode) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kFirstRead)), kSuccess);
  agents_.RemoveJob("a");
  agents_.Restart(0);
  agents_.Lose(0);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
}

// Each process of a rank numbers its requests from the beginning.
TEST_F(PublishingFaultsTest,
       ARestartedProcessDoesNotGetAnswersToItsPredecessor) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kFirstRead)), kSuccess);
  const RequestId first = agents_.BeginLookup(kB0, {key});
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(first), kSuccess);
  for (const bool before : {true, false}) {
    agents_.LoseAnswer(first);
    if (before) agents_.NextProcess(kB0, 1);
    agents_.Restart(agents_.NodeOf(kB0));
    if (!before) agents_.NextProcess(kB0, 2);
    agents_.BeginLookup(kB0, {key}, {}, first);
    agents_.Run();
    EXPECT_EQ(agents_.StatusOf(first), kErrNotFound) << before;
  }
}

// Each of the two agents that hold the publication is restarted after the job
// is over.
TEST_F(PublishingFaultsTest, APublicationThatOutlivesItsJobSurvivesRestarts) {
  for (const NodeId owner : {0u, 2u}) {
    const std::string key = KeyAt(owner, 3);
    ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kSession)), kSuccess);
  }
  agents_.RemoveJob("a");
  for (const NodeId node : {0u, 2u, 3u, 0u}) {
    agents_.Restart(node);
    for (const NodeId owner : {0u, 2u}) {
      EXPECT_EQ(agents_.Lookup(kB0, {KeyAt(owner, 3)}).status, kSuccess)
          << owner << " after " << node;
    }
  }
}

// The removal is lost with the agent. When the call is repeated, the successor
// reports success only after no agent holds the publication.
TEST_F(PublishingFaultsTest, ASuccessorCompletesAnUnpublish) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, key, "value"), kSuccess);
  const RequestId lost = agents_.BeginUnpublish(kA0, {key});
  agents_.Restart(0, false);
  EXPECT_EQ(agents_.StatusOf(lost), PublishingAgents::kPending);
  const RequestId again = agents_.BeginUnpublish(kA0, {key});
  while (agents_.StatusOf(again) == PublishingAgents::kPending) {
    ASSERT_TRUE(agents_.RunOne());
  }
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
  EXPECT_EQ(agents_.publications(), 0u);
}

// The lookup is answered after its claim was returned, so the call is repeated
// if the return is lost.
TEST_F(PublishingFaultsTest, ASuccessorCompletesTheReturnOfAClaim) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kFirstRead)), kSuccess);
  const Bytes wait = Infos()
                         .Number("pmix.wait", PMIX_INT, 0)
                         .Number("pmix.timeout", PMIX_INT, 1)
                         .Take();
  const RequestId greedy = agents_.BeginLookup(kB0, {key, "never"}, wait);
  agents_.Run();
  Actions actions;
  agents_.at(1).OnTick({agents_.now() + 2 * kSecond, actions});
  EXPECT_FALSE(Sent<DirectoryClaim>(actions).empty());
  EXPECT_TRUE(All<ReplyClient>(actions).empty());
  // The messages that return the claim are lost with the agent.
  agents_.Restart(1);
  agents_.BeginLookup(kB0, {key, "never"}, wait, greedy);
  agents_.Run();
  agents_.Pass(2 * kSecond);
  EXPECT_EQ(agents_.StatusOf(greedy), kErrTimeout);
  EXPECT_EQ(agents_.Lookup(kA0, {key}).status, kSuccess);
}

// The lookup's claim comes too late, and the owner does not know yet that the
// publication is gone. The lookup must still get the next publication.
TEST_F(PublishingFaultsTest, ALookupWaitsOnAfterItsClaimHasFailed) {
  const std::string key = KeyAt(2, 3);
  const Infos once = Data(key, Persistence::kFirstRead);
  const Bytes wait = Infos().Number("pmix.wait", PMIX_INT, 0).Take();
  const RequestId waits = agents_.BeginLookup(kB0, {key}, wait);
  agents_.Run();
  agents_.BeginPublish(kA0, Infos(once).Take());
  for (;;) {
    ASSERT_FALSE(agents_.wire().empty());
    if (std::holds_alternative<DirectoryClaim>(agents_.wire().front().body)) {
      break;
    }
    agents_.RunOne();
  }
  agents_.BeginUnpublish(kA0, {key});
  // The claim overtakes the message that removes the publication.
  ASSERT_TRUE(agents_.Overtake<DirectoryClaim>());
  ASSERT_TRUE(agents_.Overtake<DirectoryAnswer>());
  ASSERT_TRUE(agents_.Overtake<DirectoryLookup>());
  agents_.Run();
  EXPECT_EQ(agents_.StatusOf(waits), PublishingAgents::kPending);
  ASSERT_EQ(agents_.Publish(kA0, once), kSuccess);
  EXPECT_EQ(agents_.StatusOf(waits), kSuccess);
  EXPECT_EQ(agents_.operations(), 0u);
}

TEST_F(PublishingFaultsTest, ASuccessorReportsTheReaderToTheOwner) {
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, Data(key, Persistence::kFirstRead)), kSuccess);
  agents_.Restart(0, false);
  agents_.BeginLookup(kB0, {key});
  // The lookup overtakes the store at the owner.
  ASSERT_TRUE(agents_.Overtake<DirectoryLookup>());
  ASSERT_TRUE(agents_.Overtake<DirectoryFound>());
  ASSERT_TRUE(agents_.Overtake<DirectoryClaim>());
  const PeerMessage& last = agents_.wire().back();
  ASSERT_TRUE(std::holds_alternative<DirectoryStore>(last.body));
  EXPECT_EQ(last.dst, 2u);
  EXPECT_EQ(std::get<DirectoryStore>(last.body).publication.reader.proc, kB0);
}

// Agent 3 was the owner while agent 2 was lost only for the searcher's agent.
TEST_F(PublishingFaultsTest, TheAnswerOfAFormerOwnerDoesNotEndALookup) {
  EXPECT_EQ(agents_.Lookup(kB0, {KeyAt(3, 2)}).status, kErrNotFound);
  const std::string key = KeyAt(2, 3);
  ASSERT_EQ(agents_.Publish(kA0, key, "value"), kSuccess);
  agents_.Part(1, 2);
  const RequestId lookup = agents_.BeginLookup(kB0, {key});
  agents_.Join(1, 2);
  EXPECT_EQ(agents_.StatusOf(lookup), kSuccess);
}

TEST_F(PublishingFaultsTest, ARepeatedCallIsExecutedOnce) {
  const std::string key = KeyAt(2, 3);
  const Bytes info = Infos().Text(key, "value").Take();
  const RequestId request = agents_.BeginPublish(kA0, info, 77);
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(request), kSuccess);
  for (const bool restarted : {false, true}) {
    PublishingAgents again(4);
    Fill(again);
    again.BeginPublish(kA0, info, 77);
    if (restarted) {
      // A restart follows each message of the publish.
      again.RunOne();
      again.RunOne();
      again.Restart(0);
      again.BeginPublish(kA0, info, 77);
    }
    again.Run();
    EXPECT_EQ(again.StatusOf(77), kSuccess);
    EXPECT_EQ(again.Lookup(kB0, {key}).status, kSuccess);
  }
}

TEST_F(PublishingFaultsTest, ARepeatedPublishDoesNotPublishAReadKeyAgain) {
  const std::string key = KeyAt(2, 3);
  const Bytes once =
      Persisting(Persistence::kFirstRead).Text(key, "value").Take();
  agents_.BeginPublish(kA0, once, 77);
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(77), kSuccess);
  agents_.LoseAnswer(77);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kSuccess);
  agents_.Restart(0);
  agents_.BeginPublish(kA0, once, 77);
  agents_.Run();
  EXPECT_EQ(agents_.StatusOf(77), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
}

TEST_F(PublishingFaultsTest,
       AKeyReadBeforeItsPublisherReattachesIsNotPublishedAgain) {
  const std::string key = KeyAt(2, 3);
  const Bytes once =
      Persisting(Persistence::kFirstRead).Text(key, "value").Take();
  agents_.BeginPublish(kA0, once, 77);
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(77), kSuccess);
  agents_.LoseAnswer(77);
  agents_.Restart(0);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kSuccess);
  agents_.BeginPublish(kA0, once, 77);
  agents_.Run();
  EXPECT_EQ(agents_.StatusOf(77), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {key}).status, kErrNotFound);
}

TEST_F(PublishingFaultsTest, AfterFinalizeACallWithAnEarlierNumberIsExecuted) {
  const RequestId request =
      agents_.BeginPublish(kA0, Infos().Text("x", "1").Take(), 7);
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(request), kSuccess);
  agents_.Finalize(kA0);
  agents_.Restart(0);
  PublishingAgents& agents = agents_;
  EXPECT_EQ(agents.Lookup(kB0, {"x"}).status, kSuccess);
  // The call is executed as a new one. Its number is not 7 again, because the
  // harness rejects a second answer to a request.
  EXPECT_EQ(agents.Publish(kA0, "x", "2"), kErrDuplicateKey);
}

// Loses or restarts each agent after each number of messages of a publish, of a
// waiting lookup, and of a lookup that consumes the publication.
struct Fault {
  NodeId node;
  bool restarts;
};

class PublishingEveryFault : public testing::TestWithParam<Fault> {};

TEST_P(PublishingEveryFault, EachPublicationIsReadOnceDespiteTheFault) {
  const Fault fault = GetParam();
  for (int after = 0; after < 40; ++after) {
    PublishingAgents agents(4);
    agents.AddJob("a", {0});
    agents.AddJob("b", {1});
    const Bytes once =
        Persisting(Persistence::kFirstRead).Text("once", "1").Take();
    const Bytes wait = Infos().Number("pmix.wait", PMIX_INT, 0).Take();
    agents.BeginLookup(kB0, {"once"}, wait, 501);
    agents.BeginPublish(kA0, once, 502);
    agents.BeginLookup(kA0, {"once"}, {}, 503);
    for (int i = 0; i < after; ++i) agents.RunOne();
    const bool reader = fault.restarts && fault.node == 1;
    const bool writer = fault.restarts && fault.node == 0;
    if (fault.restarts) {
      agents.Restart(fault.node, false);
      const auto repeats = [&](RequestId request) {
        return agents.StatusOf(request) == PublishingAgents::kPending;
      };
      if (reader && repeats(501)) agents.BeginLookup(kB0, {"once"}, wait, 501);
      if (writer && repeats(502)) agents.BeginPublish(kA0, once, 502);
      if (writer && repeats(503)) agents.BeginLookup(kA0, {"once"}, {}, 503);
      agents.Run();
    } else {
      agents.Lose(fault.node);
    }
    const std::string where = "after " + std::to_string(after);
    EXPECT_EQ(agents.StatusOf(502), kSuccess) << where;
    const bool b_has = agents.StatusOf(501) == kSuccess;
    const bool a_has = agents.StatusOf(503) == kSuccess;
    EXPECT_NE(agents.StatusOf(503), PublishingAgents::kPending) << where;
    EXPECT_NE(a_has, b_has) << where;
    EXPECT_EQ(agents.Lookup(kB0, {"once"}).status, kErrNotFound) << where;
    agents.RemoveJob("a");
    agents.RemoveJob("b");
    EXPECT_EQ(agents.publications(), 0u) << where;
    EXPECT_EQ(agents.operations(), 0u) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PublishingEveryFault,
                         testing::Values(Fault{0, true}, Fault{1, true},
                                         Fault{2, true}, Fault{3, true},
                                         Fault{2, false}, Fault{3, false}));

// An agent of an older protocol does not know publications.
TEST_F(PublishingFaultsTest, TheRefusalOfAnOlderAgentFailsThePublish) {
  const std::string key = KeyAt(2, 3);
  const RequestId request =
      agents_.BeginPublish(kA0, Infos().Text(key, "value").Take());
  ASSERT_EQ(agents_.wire().size(), 1u);
  const auto& store = std::get<DirectoryStore>(agents_.wire().front().body);
  const auto refuse = [&](uint64_t number) {
    Actions actions;
    agents_.at(0).OnPeer({0, actions},
                         {2, 0, DirectoryAnswer{number, kErrNotSupported}});
    return actions;
  };
  const auto removals = Sent<DirectoryRemove>(refuse(store.request));
  ASSERT_EQ(removals.size(), 1u);
  const auto replies =
      All<ReplyClient>(refuse(removals.front().second.request));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].request, request);
  EXPECT_EQ(replies[0].status, kErrNotSupported);
}

TEST_F(PublishingFaultsTest, AReturnOfAMemberDuringAPullBeginsOneNewPull) {
  agents_.BeginLookup(kB0, {KeyAt(2, 3)});
  ASSERT_TRUE(agents_.RunOne());
  Actions actions;
  agents_.at(2).OnNodeReturned({agents_.now(), actions});
  EXPECT_EQ(Sent<DirectoryPull>(actions).size(), 3u);
}

TEST_F(PublishingFaultsTest,
       AnOwnerWaitsForAMembersPublicationsForALimitedTime) {
  const std::string key = KeyAt(2, 3);
  agents_.BeginLookup(kB0, {key});
  ASSERT_TRUE(agents_.RunOne());
  // The pulls of the owner remain unanswered.
  Actions actions;
  agents_.at(2).OnTick({agents_.now() + kPullPatience + kSecond, actions});
  const auto found = Sent<DirectoryFound>(actions);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second.missing.size(), 1u);
}

}  // namespace
}  // namespace canopy::core
