#include "client/cli/control/job_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace canopy::cli {
namespace {

TEST(JobNamesTest, FindsAJobByItsNamespaceOrItsLastParts) {
  const std::vector<std::string> names = {"c-aa-1", "c-aa-2", "c-bb-2"};
  EXPECT_EQ(*ChooseJob(names, "c-aa-2"), "c-aa-2");
  EXPECT_EQ(*ChooseJob(names, "1"), "c-aa-1");
  EXPECT_EQ(*ChooseJob(names, "bb-2"), "c-bb-2");
  EXPECT_EQ(ChooseJob(names, "2").code(), kErrBadParam);
  EXPECT_EQ(ChooseJob(names, "b-2").code(), kErrNotFound);
  EXPECT_EQ(ChooseJob(std::vector<std::string>(), "").code(), kErrNotFound);
}

TEST(JobNamesTest, FindsAJobByTheNameThatTheUserGave) {
  control::v1::ListJobsReply jobs;
  for (const auto& [nspace, name] :
       {std::pair("c-aa-1", "ocean"), {"c-aa-2", "1"}, {"c-aa-3", "ocean"}}) {
    auto* const job = jobs.add_jobs();
    job->set_nspace(nspace);
    job->set_name(name);
  }
  EXPECT_EQ(*ChooseJob(jobs, "1"), "c-aa-2");
  EXPECT_EQ(*ChooseJob(jobs, "c-aa-1"), "c-aa-1");
  EXPECT_EQ(*ChooseJob(jobs, "3"), "c-aa-3");
  EXPECT_EQ(ChooseJob(jobs, "ocean").code(), kErrBadParam);
  EXPECT_EQ(ChooseJob(jobs, "sea").code(), kErrNotFound);
  EXPECT_EQ(ChooseJob(jobs, "").code(), kErrNotFound);
}

TEST(JobNamesTest, ParsesNamesAndNumbersOfSignals) {
  for (const char* word : {"TERM", "SIGTERM", "sigterm", "15"}) {
    EXPECT_EQ(ParseSignal(word), 15) << word;
  }
  EXPECT_EQ(ParseSignal("USR1"), 10);
  for (const char* word : {"", "0", "65", "NOSUCH", "-9", "SIG"}) {
    EXPECT_FALSE(ParseSignal(word).has_value()) << word;
  }
}

}  // namespace
}  // namespace canopy::cli
