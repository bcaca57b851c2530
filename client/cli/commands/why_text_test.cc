#include "client/cli/commands/why_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

void AddJob(const std::string& name, const std::string& phase, uint32_t ended,
            WhyAnswer* to) {
  auto* job = to->jobs.add_jobs();
  job->set_nspace(name);
  job->set_phase(phase);
  job->set_num_procs(4);
  job->set_procs_ended(ended);
}

v1c::Waiting* AddWaiting(const std::string& job, const std::string& operation,
                         uint64_t age_ms, const std::string& missing,
                         WhyAnswer* to) {
  auto* waiting = to->why.add_waiting();
  waiting->set_nspace(job);
  waiting->set_operation(operation);
  waiting->set_age_ms(age_ms);
  waiting->add_missing(missing);
  return waiting;
}

TEST(WhyTextTest, NamesRunningJobsIfNoOperationWaits) {
  std::vector<WhyAnswer> answers(1);
  EXPECT_EQ(WhyText(answers), "no PMIx operation waits\n");
  AddJob("job-1", "running", 1, &answers[0]);
  AddJob("job-2", "queued", 0, &answers[0]);
  AddJob("job-3", "running", 4, &answers[0]);
  EXPECT_EQ(WhyText(answers),
            "no PMIx operation waits\n"
            "job-1: 3 processes run; in case of a hang, 'canopy stack job-1' "
            "shows where\n");
}

TEST(WhyTextTest, ASuspendedJobIsReportedAsSuspended) {
  WhyAnswer answer;
  AddJob("job-4", "suspended", 0, &answer);
  EXPECT_EQ(WhyText({&answer, 1}),
            "no PMIx operation waits\njob-4: suspended by its scheduler\n");
}

TEST(WhyTextTest, OperationsComeBeforeOtherJobs) {
  std::vector<WhyAnswer> answers(1);
  AddJob("job-1", "running", 0, &answers[0]);
  AddJob("job-2", "running", 3, &answers[0]);
  AddWaiting("job-1", "fence", 3250, "rank 3 on node2", &answers[0]);
  EXPECT_EQ(WhyText(answers),
            "job-1: fence has waited 3.2 s for:\n  rank 3 on node2\n"
            "job-2: 1 process runs; in case of a hang, 'canopy stack job-2' "
            "shows where\n");
}

TEST(WhyTextTest, AQueuedJobIsReportedWithItsReason) {
  std::vector<WhyAnswer> answers(1);
  AddWaiting("job-1", "its place", 2000,
             "the scheduler: 2 slots wanted, 0 free", &answers[0]);
  EXPECT_EQ(WhyText(answers),
            "job-1 has been queued for 2.0 s: 2 slots wanted, 0 free\n");
}

TEST(WhyTextTest, StoppedRanksAreNamed) {
  std::vector<WhyAnswer> answers(1);
  AddJob("job-1", "running", 0, &answers[0]);
  answers[0].stopped["job-1"] = {1, 2};
  EXPECT_EQ(WhyText(answers),
            "no PMIx operation waits\n"
            "job-1: ranks 1-2 are stopped; 'canopy signal job-1 CONT' lets "
            "them continue\n");
  answers[0].stopped["job-1"] = {0, 1, 2, 3};
  EXPECT_NE(WhyText(answers).find("all processes are stopped"),
            std::string::npos);
}

TEST(WhyTextTest, HeldRanksAreNamedWithTheReleasingCommand) {
  std::vector<WhyAnswer> answers(1);
  AddWaiting("job-1", "hold before the first instruction", 1000,
             "job-1 rank 0 on node1", &answers[0])
      ->set_held(true);
  EXPECT_EQ(WhyText(answers),
            "job-1: hold before the first instruction for 1.0 s; 'canopy event "
            "PMIX_DEBUGGER_RELEASE --job job-1' releases:\n"
            "  job-1 rank 0 on node1\n");
}

TEST(WhyTextTest, TheDocumentHasRanksAndNodes) {
  std::vector<WhyAnswer> answers(1);
  AddJob("job-1", "running", 0, &answers[0]);
  answers[0].stopped["job-1"] = {2};
  AddWaiting("job-1", "fence", 5, "rank 3 on node2", &answers[0])
      ->add_missing("and 3 more");
  EXPECT_EQ(
      LineText(WhyDocument(answers)),
      R"({"waiting":[{"job":"job-1","operation":"fence","age_ms":5,"held":false,)"
      R"("missing":[{"job":"job-1","rank":3,"node":"node2"}],)"
      R"("others":["and 3 more"]}],)"
      R"("running":[{"job":"job-1","processes":4,"stopped":[2]}],)"
      R"("no_answer":[]})"
      "\n");
}

}  // namespace
}  // namespace canopy::cli
