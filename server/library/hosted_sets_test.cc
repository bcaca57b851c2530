#include "server/library/hosted_sets.h"

#include <gtest/gtest.h>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

class HostedSetsTest : public testing::Test {
 protected:
  HostedSetsTest() {
    registration::Registration told;
    told.job.nspace = "job";
    told.job.nodes.resize(1);
    told.job.apps.resize(1);
    told.job.procs.resize(2);
    EXPECT_TRUE(jobs_.AddJob(std::move(told)).ok());
  }
  int Define(const std::string& name, const std::vector<ProcId>& members) {
    return sets_.Define(name, members).code();
  }

  HostedJobs jobs_;
  HostedSets sets_{{"server", 3}, &jobs_};
};

InfoList InfosOf(const core::EventRaised& event) {
  InfoList infos;
  EXPECT_TRUE(DecodeInfos(event.info.view(), &infos));
  return infos;
}

TEST_F(HostedSetsTest, AnEventAnnouncesASetWithItsMembers) {
  const auto event = sets_.Define("set", {{"job", kRankWildcard}, {"far", 7}});
  ASSERT_TRUE(event.ok()) << event.status().message();
  EXPECT_EQ(event->status, PMIX_PROCESS_SET_DEFINE);
  EXPECT_EQ(event->source, (ProcId{"server", 3}));
  const InfoList infos = InfosOf(*event);
  EXPECT_EQ(infos.FindString(PMIX_PSET_NAME), "set");
  const auto members = ProcsOf(infos.Find(PMIX_PSET_MEMBERS)->value);
  ASSERT_TRUE(members && members->size() == 3);
  EXPECT_EQ(FromC((*members)[2]), (ProcId{"job", 1}));
}

TEST_F(HostedSetsTest, ADeletedSetCanBeDefinedAgain) {
  ASSERT_EQ(Define("set", {{"job", 0}}), kSuccess);
  EXPECT_EQ(Define("set", {{"job", 1}}), kErrExists);
  const auto event = sets_.Delete("set");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->status, PMIX_PROCESS_SET_DELETE);
  EXPECT_EQ(InfosOf(*event).FindString(PMIX_PSET_NAME), "set");
  EXPECT_EQ(sets_.Delete("set").code(), kErrNotFound);
  const auto again = sets_.Define("set", {{"job", 0}});
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->id, event->id);
}

TEST_F(HostedSetsTest, InvalidSetsAreRefused) {
  EXPECT_EQ(Define("", {{"job", 0}}), kErrBadParam);
  EXPECT_EQ(Define(std::string(kMaxSetName + 1, 'x'), {{"job", 0}}),
            kErrBadParam);
  EXPECT_EQ(Define("set", {}), kErrBadParam);
  EXPECT_EQ(Define("job", {{"job", 0}}), kErrBadParam);
  EXPECT_EQ(Define("set", {{"job", 2}}), kErrBadParam);
  EXPECT_EQ(Define("set", {{"far", kRankUndef}}), kErrBadParam);
  EXPECT_EQ(Define("set", {{"far", kRankWildcard}}), kErrNotFound);
  EXPECT_EQ(Define("set", {{"job", 0}}), kSuccess);
}

}  // namespace
}  // namespace canopy::library
