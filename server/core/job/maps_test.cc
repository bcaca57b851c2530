#include "server/core/job/maps.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

class JobMapsTest : public testing::Test {
 protected:
  JobMapsTest() : tree_(7, 2), jobs_(5, &events_), maps_(5, tree_, jobs_) {
    maps_.set_events(&events_);
  }

  uint64_t Ask(const std::string& nspace) {
    actions_.clear();
    maps_.Want({1, actions_}, nspace);
    const auto sent = Sent<JobMapRequest>(actions_);
    return sent.empty() ? 0 : sent.back().second.request;
  }
  JobMapReply Reply(uint64_t request, const std::string& nspace) {
    return {request, kSuccess, nspace,
            Bytes(EncodeJobSpec(*JobOn(nspace, {2, 3})))};
  }

  // Returns the names in the MapUnknown events that were posted since the last
  // call.
  std::vector<std::string> Unknown() {
    std::vector<std::string> names;
    for (const MapUnknown& map : TakeAll<MapUnknown>(&events_)) {
      names.push_back(map.nspace);
    }
    return names;
  }

  CoreEvents events_;
  Tree tree_;
  JobTable jobs_;
  JobMaps maps_;
  Actions actions_;
};

TEST_F(JobMapsTest, RequestsAMapFromTheRootOnce) {
  const uint64_t request = Ask("x");
  ASSERT_NE(request, 0u);
  EXPECT_EQ(Sent<JobMapRequest>(actions_)[0].first, 0u);
  EXPECT_EQ(Ask("x"), 0u);
  // Answers of other agents, or to other requests, are not accepted.
  maps_.OnReply(3, Reply(request, "x"));
  maps_.OnReply(0, Reply(request + 1, "x"));
  EXPECT_EQ(jobs_.Find("x"), nullptr);
  maps_.OnReply(0, Reply(request, "x"));
  ASSERT_NE(jobs_.Find("x"), nullptr);
  EXPECT_EQ(jobs_.Find("x")->agent_of(1), 3u);
}

// A later agent of a lost node runs none of the ranks; this agent may be such
// an agent.
TEST_F(JobMapsTest, RanksOfLostNodesAreMarkedAsEnded) {
  JobMapReply reply = Reply(Ask("x"), "x");
  reply.lost = {3, 6};
  maps_.OnReply(0, reply);
  EXPECT_FALSE(jobs_.Find("x")->ranks[0].ended);
  EXPECT_TRUE(jobs_.Find("x")->ranks[1].ended);
}

TEST_F(JobMapsTest, AMapFromALenderIsDroppedWhenTheLenderReportsTheEnd) {
  maps_.OnLent(3, "x", Reply(1, "y").spec);
  EXPECT_EQ(jobs_.Find("x"), nullptr) << "the map of another job";
  maps_.OnLent(3, "x", Reply(1, "x").spec);
  ASSERT_NE(jobs_.Find("x"), nullptr);
  maps_.OnForget(0, "x");
  EXPECT_NE(jobs_.Find("x"), nullptr) << "not by the lender";
  maps_.OnForget(3, "x");
  EXPECT_EQ(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, AMapFromALenderEndsThePendingRequest) {
  Ask("x");
  maps_.OnLent(0, "x", Reply(1, "x").spec);
  EXPECT_EQ(maps_.num_requests(), 0u);
  EXPECT_EQ(maps_.NextDeadline(), kNever);
}

TEST_F(JobMapsTest, AJobUnknownToTheRootIsReported) {
  const uint64_t request = Ask("x");
  maps_.OnReply(0, {request, kErrNotFound, "x", {}});
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
}

TEST_F(JobMapsTest, AMapOfAnotherJobIsRejected) {
  const uint64_t request = Ask("x");
  JobMapReply reply = Reply(request, "y");
  reply.nspace = "x";
  maps_.OnReply(0, reply);
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
  EXPECT_EQ(jobs_.Find("y"), nullptr);
}

TEST_F(JobMapsTest, ARequestExpiresWithoutAnAnswer) {
  Ask("x");
  EXPECT_LT(maps_.NextDeadline(), kNever);
  maps_.OnTick({maps_.NextDeadline(), actions_});
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
  EXPECT_EQ(maps_.NextDeadline(), kNever);
}

TEST_F(JobMapsTest, TheRequestIsRepeatedToANewRoot) {
  Ask("x");
  actions_.clear();
  tree_.SetAlive(0, false);
  maps_.OnTreeChanged({0, actions_});
  const auto sent = Sent<JobMapRequest>(actions_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 1u);
  maps_.OnReply(1, Reply(sent[0].second.request, "x"));
  EXPECT_NE(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, TheRequestIsRepeatedAfterALoss) {
  const uint64_t request = Ask("x");
  actions_.clear();
  tree_.SetAlive(2, false);
  maps_.OnNodeLost({0, actions_}, {kNoNode, false, ""});
  maps_.OnTreeChanged({0, actions_});
  const auto sent = Sent<JobMapRequest>(actions_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 0u);
  EXPECT_FALSE(sent[0].second.exists_only);
  // The message about the job's end, which followed this answer, may be lost.
  maps_.OnReply(0, Reply(request, "x"));
  EXPECT_EQ(jobs_.Find("x"), nullptr);
  maps_.OnReply(0, {sent[0].second.request, kErrNotFound, "x", {}});
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
  EXPECT_EQ(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, ABorrowedMapIsReleasedWithTheJob) {
  maps_.OnReply(0, Reply(Ask("x"), "x"));
  maps_.OnForget(0, "other");
  EXPECT_NE(jobs_.Find("x"), nullptr);
  // Only a message of the lender counts.
  maps_.OnForget(3, "x");
  EXPECT_NE(jobs_.Find("x"), nullptr);
  maps_.OnForget(0, "x");
  EXPECT_EQ(jobs_.Find("x"), nullptr);
  // The job may have become known since, so the root gets another request.
  maps_.OnReply(0, JobMapReply{Ask("x"), kErrNotFound, "x", {}});
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
}

TEST_F(JobMapsTest, AMapThatArrivesAfterTheEndOfItsJobIsDropped) {
  const uint64_t request = Ask("x");
  maps_.OnForget(3, "x");
  EXPECT_TRUE(Unknown().empty());
  maps_.OnForget(0, "x");
  EXPECT_EQ(Unknown(), std::vector<std::string>{"x"});
  maps_.OnReply(0, Reply(request, "x"));
  EXPECT_EQ(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, AfterALossTheLenderIsQueriedAboutTheJob) {
  maps_.OnReply(0, Reply(Ask("x"), "x"));
  for (const int status : {kSuccess, kErrNotFound}) {
    actions_.clear();
    maps_.OnNodeLost({0, actions_}, {kNoNode, false, ""});
    const auto sent = Sent<JobMapRequest>(actions_);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].first, 0u);
    EXPECT_TRUE(sent[0].second.exists_only);
    const JobMapReply reply{sent[0].second.request, status, "x", {}};
    // Only the lender's answer to the last request counts.
    maps_.OnReply(3, reply);
    maps_.OnReply(0, {reply.request - 1, kErrNotFound, "x", {}});
    EXPECT_NE(jobs_.Find("x"), nullptr);
    maps_.OnReply(0, reply);
    EXPECT_EQ(jobs_.Find("x") != nullptr, status == kSuccess);
  }
  actions_.clear();
  maps_.OnNodeLost({0, actions_}, {kNoNode, false, ""});
  EXPECT_TRUE(actions_.empty());
}

TEST_F(JobMapsTest, AMapIsDroppedWhenItsLenderIsLost) {
  maps_.OnReply(0, Reply(Ask("x"), "x"));
  tree_.SetAlive(1, false);
  maps_.OnTreeChanged({0, actions_});
  EXPECT_NE(jobs_.Find("x"), nullptr);
  tree_.SetAlive(0, false);
  maps_.OnTreeChanged({0, actions_});
  EXPECT_EQ(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, AKeptMapIsDroppedWhenTheLenderReportsTheEnd) {
  maps_.Keep({0, actions_}, "x", 3);
  EXPECT_TRUE(actions_.empty()) << "of a job that is not in the table";
  for (const int status : {kSuccess, kErrNotFound}) {
    jobs_.Add(JobOn("x", {2, 3}));
    actions_.clear();
    maps_.Keep({0, actions_}, "x", 3);
    const auto sent = Sent<JobMapRequest>(actions_);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].first, 3u);
    EXPECT_TRUE(sent[0].second.exists_only);
    maps_.OnReply(3, {sent[0].second.request, status, "x", {}});
    EXPECT_EQ(jobs_.Find("x") != nullptr, status == kSuccess);
    maps_.OnForget(3, "x");
    EXPECT_EQ(jobs_.Find("x"), nullptr);
  }
}

TEST_F(JobMapsTest, AMapOfALostLenderIsNotKept) {
  jobs_.Add(JobOn("x", {2, 3}));
  tree_.SetAlive(3, false);
  maps_.Keep({0, actions_}, "x", 3);
  EXPECT_EQ(jobs_.Find("x"), nullptr);
}

TEST_F(JobMapsTest, TakingPartInTheJobEndsTheLoanOfItsMap) {
  const Bytes spec(EncodeJobSpec(*JobOn("x", {5})));
  maps_.OnReply(0, Reply(Ask("x"), "x"));
  maps_.OnPrepare(spec);
  EXPECT_NE(jobs_.Find("x"), nullptr);
  maps_.OnForget(0, "x");
  EXPECT_NE(jobs_.Find("x"), nullptr);
  jobs_.Remove("x");
  // The job's data is made available to local processes again.
  maps_.OnReply(0, Reply(Ask("x"), "x"));
  jobs_.MarkRegistered("x");
  events_ = {};
  maps_.OnPrepare(spec);
  ASSERT_NE(jobs_.Find("x"), nullptr);
  EXPECT_FALSE(jobs_.Find("x")->registered);
  const auto released = TakeAll<ReleasedJob>(&events_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].nspace, "x");
}

TEST_F(JobMapsTest, AMapIsLentAndTheEndOfItsJobReportedToTheBorrower) {
  jobs_.Add(JobOn("mine", {5, 6}));
  const JobMapRequest request{7, "mine"};
  maps_.OnRequest({0, actions_}, 2, request, {{6}, 1});
  const auto replies = Sent<JobMapReply>(actions_);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 2u);
  EXPECT_EQ(replies[0].second.request, 7u);
  EXPECT_EQ(DecodeJobSpec(replies[0].second.spec.view())->nspace, "mine");
  EXPECT_EQ(replies[0].second.lost, std::vector<NodeId>{6});
  actions_.clear();
  // An agent that has the map only queries whether the job is known.
  const JobMapRequest check{7, "mine", true};
  maps_.OnRequest({0, actions_}, 2, check, {{6}, 1});
  EXPECT_TRUE(Sent<JobMapReply>(actions_)[0].second.spec.empty());
  EXPECT_TRUE(Sent<JobMapReply>(actions_)[0].second.lost.empty());
  EXPECT_EQ(Sent<JobMapReply>(actions_)[0].second.status, kSuccess);
  actions_.clear();
  jobs_.Remove("mine");
  maps_.OnJobRemoved({0, actions_}, TakeAll<RemovedJob>(&events_).at(0));
  const auto forgets = Sent<JobForget>(actions_);
  ASSERT_EQ(forgets.size(), 1u);
  EXPECT_EQ(forgets[0].first, 2u);
}

// The root and the leader know the jobs of all controllers.
TEST_F(JobMapsTest, AControllerOffersItsJobAndReportsItsEnd) {
  jobs_.Add(JobOn("mine", {5, 6}));
  maps_.Offer({0, actions_}, "unknown", 0, {});
  EXPECT_TRUE(actions_.empty());
  maps_.Offer({0, actions_}, "mine", 0, {6});
  const auto offers = Sent<JobMapReply>(actions_);
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].first, 0u);
  EXPECT_EQ(offers[0].second.request, 0u);
  EXPECT_EQ(offers[0].second.controller, 5u);
  EXPECT_EQ(offers[0].second.lost, std::vector<NodeId>{6});
  actions_.clear();
  jobs_.Remove("mine");
  maps_.OnJobRemoved({0, actions_}, TakeAll<RemovedJob>(&events_).at(0));
  EXPECT_EQ(Sent<JobForget>(actions_).size(), 1u);
}

TEST_F(JobMapsTest, AnOfferedJobIsKnownUntilItsControllerReportsItsEnd) {
  maps_.OnOffered({0, actions_}, 3, Reply(0, "x"));
  ASSERT_NE(jobs_.Find("x"), nullptr);
  EXPECT_EQ(jobs_.Find("x")->lent_by_controller, 3u);
  auto known = All<JobElsewhere>(actions_);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].controller, 3u);
  EXPECT_EQ(known[0].job->nspace, "x");
  // The end may have overtaken the offer.
  EXPECT_EQ(Sent<JobMapRequest>(actions_).at(0).first, 3u);
  actions_.clear();
  maps_.OnForget(3, "x");
  EXPECT_EQ(jobs_.Find("x"), nullptr);
  maps_.OnJobRemoved({0, actions_}, TakeAll<RemovedJob>(&events_).at(0));
  known = All<JobElsewhere>(actions_);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].job, nullptr);
}

TEST_F(JobMapsTest, AnOfferEndsTheRequestForTheMap) {
  ASSERT_NE(Ask("x"), 0u);
  maps_.OnOffered({0, actions_}, 3, Reply(0, "x"));
  EXPECT_EQ(maps_.num_requests(), 0u);
}

TEST_F(JobMapsTest, AnOfferThatIsNotTheJobIsIgnored) {
  JobMapReply other = Reply(0, "y");
  other.nspace = "x";
  maps_.OnOffered({0, actions_}, 3, other);
  EXPECT_EQ(jobs_.Find("x"), nullptr);
  EXPECT_TRUE(actions_.empty());
}

// The agent takes part in the job, whose map is not borrowed.
TEST_F(JobMapsTest, AnOfferOfAJobWithAPartHereIsOnlyReported) {
  jobs_.Add(JobOn("x", {5, 3}));
  maps_.OnOffered({0, actions_}, 3, Reply(0, "x"));
  EXPECT_EQ(All<JobElsewhere>(actions_).size(), 1u);
  EXPECT_TRUE(Sent<JobMapRequest>(actions_).empty());
  EXPECT_EQ(jobs_.Find("x")->lent_by_controller, kNoNode);
}

}  // namespace
}  // namespace canopy::core
