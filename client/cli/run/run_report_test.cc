#include "client/cli/run/run_report.h"

#include <gtest/gtest.h>

#include <string>

#include "client/cli/base/timeline.h"
#include "client/cli/options/run_options.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {
namespace {

namespace v1 = control::v1;

class RunReportTest : public testing::Test {
 protected:
  RunReportTest() { report_.OnMapped(Mapped("first", "")); }

  static v1::JobMapped Mapped(const std::string& nspace,
                              const std::string& parent) {
    v1::JobMapped mapped;
    mapped.set_nspace(nspace);
    mapped.set_num_procs(1);
    mapped.set_parent(parent);
    return mapped;
  }
  // Returns the text that is printed on standard error when the spawned job
  // "child" ends.
  std::string TextOf(int status, const std::string& text) {
    report_.OnMapped(Mapped("child", "first"));
    v1::SpawnedEnd ended;
    ended.set_nspace("child");
    ended.mutable_end()->set_status(status);
    ended.mutable_end()->set_text(text);
    testing::internal::CaptureStderr();
    report_.OnSpawnedEnd(ended);
    report_.OnSpawnedEnd(ended);
    return testing::internal::GetCapturedStderr();
  }

  RunOptions options_;
  Timeline timeline_{false};
  RunReport report_{options_, &timeline_};
};

TEST_F(RunReportTest, AFailureOfASpawnedJobIsPrintedOnce) {
  const std::string line = "job child: rank 0 on a exited with code 3";
  EXPECT_FALSE(report_.has_said(line));
  EXPECT_EQ(TextOf(kErrJobNonZeroTerm, "rank 0 on a exited with code 3"),
            "canopy: " + line + "\n");
  EXPECT_TRUE(report_.has_said(line));
}

TEST_F(RunReportTest, SuccessesRequestedEndsAndConsequencesAreNotPrinted) {
  EXPECT_EQ(TextOf(kSuccess, ""), "");
  EXPECT_EQ(TextOf(kErrJobKilledByCmd, "SIGINT"), "");
  EXPECT_EQ(TextOf(-185, "job first, which spawned it, has failed"), "");
}

TEST_F(RunReportTest, EachSpawnedJobIsReportedToTheWatch) {
  std::string seen;
  report_.set_spawned_watch(
      {[&seen](const v1::JobMapped& mapped) { seen += mapped.nspace() + " "; },
       [&seen](const v1::SpawnedEnd& ended) {
         seen += std::to_string(ended.end().status()) + " ";
       }});
  TextOf(kSuccess, "");
  TextOf(kErrJobKilledByCmd, "");
  EXPECT_EQ(seen, "child 0 child " + std::to_string(kErrJobKilledByCmd) + " ");
}

TEST(RunReportNamesTest, AQueuedJobIsAnnouncedBeforeItIsMapped) {
  const RunOptions options;
  Timeline timeline(false);
  RunReport report(options, &timeline);
  std::string known;
  report.set_on_known(
      [&known](const std::string& nspace, const v1::JobMapped* mapped) {
        known += nspace + (mapped == nullptr ? " queued " : " mapped ");
      });
  v1::JobQueued queued;
  queued.set_name("job-1");
  testing::internal::CaptureStderr();
  report.OnQueued(queued);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  v1::JobMapped mapped;
  mapped.set_nspace("job-1");
  mapped.set_num_procs(1);
  report.OnMapped(mapped);
  EXPECT_EQ(known, "job-1 queued job-1 mapped ");
}

}  // namespace
}  // namespace canopy::cli
