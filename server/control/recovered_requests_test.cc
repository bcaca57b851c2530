#include "server/control/recovered_requests.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include "common/job.h"

namespace canopy::control {
namespace {

const ProcId kSpawner{"first", 1};

class RecoveredRequestsTest : public testing::Test {
 protected:
  // Adds a job of the spawn request 5.
  PersistedJob& Add(const std::string& nspace, const std::string& partner = "",
                    bool cospawned = false) {
    auto job = std::make_shared<JobSpec>();
    job->nspace = nspace;
    job->parent = kSpawner;
    PersistedJob& persisted = jobs_[nspace];
    persisted.job = job;
    persisted.facts.spawn_request = 5;
    persisted.facts.partner = partner;
    persisted.facts.cospawned = cospawned;
    return persisted;
  }
  PersistedJob& AddCospawned(const std::string& partner) {
    return Add("beside", partner, true);
  }
  std::vector<RecoveredRequest> Requests() const {
    std::vector<const PersistedJob*> family;
    for (const auto& [nspace, job] : jobs_) family.push_back(&job);
    return RecoveredRequests(family);
  }
  // Returns "+" for a complete request or "-" for an incomplete one, followed
  // by its jobs.
  std::string Only() const {
    const auto all = Requests();
    if (all.size() != 1) return std::to_string(all.size()) + " requests";
    std::string text = all[0].complete ? "+" : "-";
    for (const RecoveredRequest::Job& job : all[0].jobs) {
      text += " " + job.nspace + (job.over ? " over" : "");
    }
    return text;
  }

  std::map<std::string, PersistedJob> jobs_;
};

TEST_F(RecoveredRequestsTest, RecoversARequestOfOneJob) {
  Add("main").facts.start_deadline = 7;
  const auto all = Requests();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].proc, kSpawner);
  EXPECT_EQ(all[0].request, 5u);
  EXPECT_EQ(all[0].deadline, 7);
  EXPECT_EQ(Only(), "+ main");
  jobs_["main"].end = "";
  EXPECT_EQ(Only(), "+ main over");
}

TEST_F(RecoveredRequestsTest, AJobThatWasNotSpawnedHasNoRequest) {
  Add("first").facts.spawn_request.reset();
  EXPECT_TRUE(Requests().empty());
}

TEST_F(RecoveredRequestsTest, RecoversARequestOfTwoJobsThatAreBeingStarted) {
  Add("main", "beside");
  AddCospawned("main");
  EXPECT_EQ(Only(), "+ main beside");
  jobs_["beside"].end = "";
  EXPECT_EQ(Only(), "+ main beside over");
}

TEST_F(RecoveredRequestsTest, ARequestOfTwoStartedJobsContainsOnlyTheMainJob) {
  Add("main");
  AddCospawned("");
  EXPECT_EQ(Only(), "+ main");
  jobs_.erase("main");
  EXPECT_TRUE(Requests().empty());
}

TEST_F(RecoveredRequestsTest,
       OneRecordWithoutAPartnerShowsThatBothHaveStarted) {
  Add("main");
  AddCospawned("main");
  EXPECT_EQ(Only(), "+ main");
  jobs_["main"].facts.partner = "beside";
  jobs_["beside"].facts.partner = "";
  EXPECT_EQ(Only(), "+ main");
}

TEST_F(RecoveredRequestsTest, ARequestWithoutItsOtherJobIsIncomplete) {
  Add("main", "beside");
  EXPECT_EQ(Only(), "- main");
  jobs_.clear();
  AddCospawned("main");
  EXPECT_EQ(Only(), "- beside");
}

}  // namespace
}  // namespace canopy::control
