#include "server/core/pset/set_owners.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/core_testing.h"
#include "server/core/pset/set_events.h"

namespace canopy::core {
namespace {

// Agent 5 of a binary tree of 7, below 2, knows no job. Agent 3 announces the
// sets unless stated otherwise.
class SetOwnersTest : public testing::Test {
 protected:
  explicit SetOwnersTest(NodeId self = 5)
      : tree_(7, 2),
        jobs_(self),
        owners_(
            self, tree_, jobs_,
            [this](const std::string& nspace) { return nspace == ended_; },
            sets_) {
    owners_.set_events(&events_);
  }

  void Define(const std::string& name, const std::string& job, NodeId at = 3) {
    const EventRaised raised = SetDefined({{job, 0}, 1}, name, {{job, 0}});
    EventMessage event;
    event.origin = at;
    event.status = raised.status;
    event.source = raised.source;
    event.request = raised.id;
    event.info = raised.info;
    ASSERT_TRUE(sets_.OnEvent(event));
    owners_.OnDefined({now_, actions_}, job);
  }
  // Returns the queries sent since the last call, by job and agent.
  std::vector<std::string> Asked() {
    std::vector<std::string> out;
    for (const auto& [node, query] : Sent<JobQuery>(actions_)) {
      out.push_back(query.nspace + " " + std::to_string(node));
    }
    actions_.clear();
    return out;
  }
  using Texts = std::vector<std::string>;

  // Returns the names in the SetsDropped events that were posted since the last
  // call.
  Texts Dropped() {
    Texts out;
    for (const SetsDropped& sets : TakeAll<SetsDropped>(&events_)) {
      out.push_back(sets.nspace);
    }
    return out;
  }

  CoreEvents events_;
  Tree tree_;
  JobTable jobs_;
  ProcessSets sets_{jobs_};
  SetOwners owners_;
  Actions actions_;
  TimeNs now_ = 0;
  std::string ended_;
};

TEST_F(SetOwnersTest, NoQueryIsSentIfNoMessageCanHaveBeenLost) {
  Define("ocean", "job");
  EXPECT_EQ(Asked(), Texts{});
  // No message to or from this agent passes agent 4.
  owners_.OnNodeRestarted({now_, actions_}, 4);
  EXPECT_EQ(Asked(), Texts{});
}

TEST_F(SetOwnersTest, OnlyTheQueriedAgentsAnswerEndsASet) {
  Define("ocean", "job");
  tree_.SetAlive(6, false);
  owners_.OnTreeChanged({now_, actions_});
  EXPECT_EQ(Asked(), Texts{"job 3"});
  owners_.OnOver(0, "job");
  EXPECT_EQ(sets_.sets().size(), 1u);
  owners_.OnOver(3, "job");
  EXPECT_EQ(sets_.sets().size(), 0u);
  EXPECT_EQ(Dropped(), Texts{"job"});
}

TEST_F(SetOwnersTest, ALostAnswerIsRequestedAgain) {
  Define("ocean", "job");
  owners_.OnNodeRestarted({now_, actions_}, 2);
  EXPECT_EQ(Asked(), Texts{"job 3"});
  owners_.OnNodeRestarted({now_, actions_}, 1);
  EXPECT_EQ(Asked(), Texts{"job 3"});
  owners_.OnNodeRestarted({now_, actions_}, 3);
  EXPECT_EQ(Asked(), Texts{"job 3"});
}

TEST_F(SetOwnersTest, TheRootIsQueriedIfTheAnnouncingAgentIsLost) {
  Define("ocean", "job");
  tree_.SetAlive(3, false);
  owners_.OnTreeChanged({now_, actions_});
  EXPECT_EQ(Asked(), Texts{"job 0"});
  owners_.OnOver(0, "job");
  EXPECT_EQ(sets_.sets().size(), 0u);
}

// The sets may come from the cache of a neighbour that does not know of the end
// either.
TEST_F(SetOwnersTest, SetsThatArriveAfterAChangeCauseOneQuery) {
  owners_.set_began(now_);
  Define("ocean", "job");
  Define("sea", "job");
  EXPECT_EQ(Asked(), Texts{"job 3"});
  now_ = TimeNs{1} << 50;
  Define("lake", "other");
  EXPECT_EQ(Asked(), Texts{});
}

TEST_F(SetOwnersTest, NoQueryIsSentAboutKnownOrEndedJobs) {
  jobs_.Add(JobOn("job", {5}));
  owners_.set_began(now_);
  Define("ocean", "job");
  ended_ = "over";
  Define("sea", "over");
  EXPECT_EQ(Asked(), Texts{});
  EXPECT_EQ(sets_.sets().size(), 1u);
  EXPECT_EQ(Dropped(), Texts{"over"});
}

class SetOwnersOfRootTest : public SetOwnersTest {
 protected:
  SetOwnersOfRootTest() : SetOwnersTest(0) {}
};

// Other agents may have the set without knowing the job.
TEST_F(SetOwnersOfRootTest, TheRootEndsASetDefinedAfterItsJob) {
  ended_ = "over";
  CoreEvents late;
  sets_.set_events(&late);
  Define("ocean", "over");
  EXPECT_EQ(sets_.sets().size(), 0u);
  EXPECT_EQ(TakeAll<LateSetEnded>(&late).size(), 1u);
  EXPECT_EQ(Dropped(), Texts{"over"});
}

// This agent did not know the job before its restart either.
TEST_F(SetOwnersOfRootTest, TheAuthoritativeRootDropsUnknownSets) {
  owners_.set_began(now_);
  Define("ocean", "job", 0);
  Define("sea", "other");
  EXPECT_EQ(Asked(), Texts{"other 3"});
  owners_.OnAuthoritative();
  EXPECT_EQ(Dropped(), Texts{"job"});
  EXPECT_EQ(sets_.sets().size(), 1u);
}

}  // namespace
}  // namespace canopy::core
