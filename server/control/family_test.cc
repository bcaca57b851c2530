#include "server/control/family.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/status.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {
namespace {

v1::JobEnd End(int exit_code, int status) {
  v1::JobEnd end;
  end.set_exit_code(exit_code);
  end.set_status(status);
  end.set_text("text");
  end.set_first_failed(0);
  return end;
}

const v1::JobEnd kWell;
const v1::JobEnd kConsequence = End(143, kErrJobTermWoSync);

TEST(FamilyTest, AFamilyIsOverWithItsLastJob) {
  Family family("first");
  family.Add("child");
  family.OnEnded("first", kWell);
  EXPECT_FALSE(family.over());
  family.OnEnded("child", kWell);
  EXPECT_TRUE(family.over());
  EXPECT_EQ(family.Conclusion().exit_code(), 0);
}

TEST(FamilyTest, TheFirstJobsFailureIsTheFamilysFailure) {
  Family family("first");
  family.Add("child");
  family.OnEnded("child", End(3, kErrJobNonZeroTerm));
  family.OnEnded("first", End(4, kErrJobNonZeroTerm));
  EXPECT_EQ(family.Conclusion().exit_code(), 4);
  EXPECT_TRUE(family.Conclusion().has_first_failed());
}

TEST(FamilyTest, ASpawnedJobsFailureCountsUnlessTheFirstJobFailed) {
  for (const v1::JobEnd& first : {kWell, kConsequence}) {
    Family family("first");
    family.Add("a");
    family.Add("b");
    family.OnFailing("a", End(3, kErrJobNonZeroTerm));
    family.OnEnded("first", first);
    family.OnEnded("b", End(5, kErrJobNonZeroTerm));
    family.OnEnded("a", End(3, kErrJobNonZeroTerm));
    EXPECT_EQ(family.Conclusion().exit_code(), 3);
    EXPECT_EQ(family.Conclusion().text(), "job a: text");
    EXPECT_FALSE(family.Conclusion().has_first_failed());
  }
}

TEST(FamilyTest, AJobThatEndsAsAConsequenceIsNotAFailure) {
  Family family("first");
  family.Add("child");
  family.OnEnded("child", kConsequence);
  family.OnEnded("first", kWell);
  EXPECT_EQ(family.Conclusion().exit_code(), 0);
}

TEST(FamilyTest, AJobThatWasEndedByRequestIsNotAFailure) {
  Family family("first");
  family.Add("a");
  family.Add("b");
  family.OnFailing("a", End(143, kErrJobKilledByCmd));
  family.OnEnded("first", kWell);
  EXPECT_EQ(family.Conclusion().exit_code(), 0);
  family.killed = true;
  EXPECT_EQ(family.Conclusion().exit_code(), 143);
  family.OnFailing("b", End(3, kErrJobNonZeroTerm));
  EXPECT_EQ(family.Conclusion().exit_code(), 3);
}

TEST(FamilyTest, RecordsAreKeptWhileTheirSpawnerMayRepeatTheRequest) {
  Family family("first");
  const ProcId spawner{"first", 0};
  EXPECT_TRUE(family.KeepRecord("other", {"first", 1}, 0).empty());
  for (size_t i = 0; i < core::kMaxSpawnsOfProcess; ++i) {
    EXPECT_TRUE(family.KeepRecord("j" + std::to_string(i), spawner, i).empty());
  }
  EXPECT_EQ(family.KeepRecord("last", spawner, core::kMaxSpawnsOfProcess),
            (std::vector<std::string>{"j0"}));
  EXPECT_EQ(family.kept().size(), core::kMaxSpawnsOfProcess + 1);
}

TEST(FamilyTest, TheNumberOfJobsIsLimited) {
  const SpawnQuota quota{3, 5};
  Family family("first");
  family.Add("a");
  EXPECT_EQ(family.RefusalOfSpawn(quota), "");
  family.Add("b");
  EXPECT_EQ(family.RefusalOfSpawn(quota),
            "3 jobs of its family run, which is the limit");
  family.OnEnded("a", kWell);
  EXPECT_EQ(family.RefusalOfSpawn(quota), "");
  family.Add("c");
  family.OnEnded("b", kWell);
  family.Add("d");
  family.OnEnded("c", kWell);
  EXPECT_EQ(family.RefusalOfSpawn(quota),
            "its family has had 5 jobs, which is the limit");
}

TEST(FamilyTest, BothJobsOfARequestCountAsOneRecord) {
  Family family("first");
  const ProcId spawner{"first", 0};
  for (size_t i = 0; i < core::kMaxSpawnsOfProcess; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_TRUE(family.KeepRecord("main" + n, spawner, i).empty());
    EXPECT_TRUE(family.KeepRecord("beside" + n, spawner, i).empty());
  }
  EXPECT_EQ(family.KeepRecord("last", spawner, core::kMaxSpawnsOfProcess),
            (std::vector<std::string>{"main0", "beside0"}));
}

// Returns jobs with these names, each with the name of its spawner.
JobRecords Jobs(const std::vector<std::pair<std::string, std::string>>& jobs) {
  JobRecords out;
  for (const auto& [nspace, parent] : jobs) {
    auto job = std::make_shared<JobSpec>();
    job->nspace = nspace;
    if (!parent.empty()) job->parent = {parent, 0};
    out[nspace].job = job;
  }
  return out;
}

std::vector<std::string> Names(const std::vector<Consequence>& all) {
  std::vector<std::string> out;
  for (const Consequence& one : all) out.push_back(one.nspace);
  return out;
}

TEST(ConsequencesTest, AFailureEndsChildrenAndParent) {
  JobRecords jobs = Jobs({{"a", ""}, {"b", "a"}, {"c", "b"}, {"d", "a"}});
  EXPECT_EQ(Names(ConsequencesOf(*jobs["b"].job, {}, true, jobs)),
            (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(Names(ConsequencesOf(*jobs["b"].job, {}, false, jobs)),
            (std::vector<std::string>{"c"}));
  EXPECT_EQ(Names(ConsequencesOf(*jobs["a"].job, {}, true, jobs)),
            (std::vector<std::string>{"b", "d"}));
}

TEST(ConsequencesTest, SeparateJobsAndEndingJobsAreNotEnded) {
  JobRecords jobs = Jobs({{"a", ""}, {"b", "a"}, {"c", "a"}});
  jobs["b"].facts.separate = true;
  jobs["c"].phase = core::JobPhase::kEnding;
  EXPECT_TRUE(ConsequencesOf(*jobs["a"].job, {}, true, jobs).empty());
}

TEST(ConsequencesTest, TheEndOfALauncherDoesNotEndUnattendedJobs) {
  JobRecords jobs = Jobs({{"a", ""}, {"b", "a"}, {"c", "b"}});
  jobs["b"].facts.unattended = jobs["c"].facts.unattended = true;
  EXPECT_TRUE(ConsequencesOf(*jobs["a"].job, {}, true, jobs).empty());
  EXPECT_EQ(Names(ConsequencesOf(*jobs["b"].job, jobs["b"].facts, true, jobs)),
            (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace canopy::control
