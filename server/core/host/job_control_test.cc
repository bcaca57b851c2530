#include "server/core/host/job_control.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/infos_testing.h"

namespace canopy::core {
namespace {

constexpr uint32_t kRequired = 1;

int Parse(Infos infos, JobControl* out) {
  return ParseJobControl(infos.Take(), out);
}

int StatusOf(Infos infos) {
  JobControl control;
  return Parse(std::move(infos), &control);
}

TEST(JobControlTest, ParsesTheActions) {
  JobControl pause;
  EXPECT_EQ(Parse(Infos().Flag("pmix.jctrl.pause"), &pause), kSuccess);
  EXPECT_EQ(pause.action, ControlAction::kSignal);
  EXPECT_EQ(pause.signal, 19);
  EXPECT_EQ(ActionName(pause), "pause");
  JobControl resume;
  EXPECT_EQ(Parse(Infos().Flag("pmix.jctrl.resume"), &resume), kSuccess);
  EXPECT_EQ(ActionName(resume), "resume");
  JobControl signal;
  EXPECT_EQ(Parse(Infos().Number("pmix.jctrl.sig", PMIX_INT, 10), &signal),
            kSuccess);
  EXPECT_EQ(signal.signal, 10);
  JobControl kill;
  EXPECT_EQ(Parse(Infos().Flag("pmix.jctrl.kill"), &kill), kSuccess);
  EXPECT_EQ(kill.action, ControlAction::kKill);
  JobControl term;
  EXPECT_EQ(Parse(Infos().Flag("pmix.jctrl.term"), &term), kSuccess);
  EXPECT_EQ(term.action, ControlAction::kTerminate);
}

TEST(JobControlTest, RequestsWithoutExactlyOneActionAreRejected) {
  EXPECT_EQ(
      StatusOf(Infos().Flag("pmix.jctrl.pause").Flag("pmix.jctrl.resume")),
      kErrBadParam);
  EXPECT_EQ(
      StatusOf(Infos().Flag("pmix.jctrl.kill").Text("pmix.reg.cleanup", "/x")),
      kErrBadParam);
  EXPECT_EQ(StatusOf(Infos().Flag("pmix.jctrl.pause", false)), kErrBadParam);
  EXPECT_EQ(StatusOf(Infos().Text("pmix.jctrl.id", "me")), kErrBadParam);
  EXPECT_EQ(StatusOf(Infos()), kErrBadParam);
}

TEST(JobControlTest, RejectsMalformedDirectives) {
  EXPECT_EQ(StatusOf(Infos().Number("pmix.jctrl.sig", PMIX_INT, 0)),
            kErrBadParam);
  EXPECT_EQ(StatusOf(Infos().Number("pmix.jctrl.sig", PMIX_INT, 65)),
            kErrBadParam);
  EXPECT_EQ(StatusOf(Infos().Text("pmix.jctrl.sig", "10")), kErrBadParam);
  EXPECT_EQ(StatusOf(Infos().Text("pmix.jctrl.defpset", "")), kErrBadParam);
  JobControl control;
  EXPECT_EQ(ParseJobControl(Bytes(std::string("\xff")), &control),
            kErrBadParam);
  EXPECT_EQ(ParseJobControl(Bytes(), &control), kErrBadParam);
}

TEST(JobControlTest, TheResultsContainRefusedDirectives) {
  JobControl control;
  EXPECT_EQ(Parse(Infos()
                      .Text("pmix.jctrl.id", "me")
                      .Text("pmix.jctrl.restart", "x")
                      .Flag("pmix.jctrl.pause"),
                  &control),
            kSuccess);
  EXPECT_EQ(control.refused, std::vector<std::string>{"pmix.jctrl.restart"});
  const Bytes results = ControlResults(control);
  EXPECT_NE(results.view().find("pmix.jctrl.restart"), std::string::npos);
  EXPECT_NE(results.view().find("not supported"), std::string::npos);
  EXPECT_NE(results.view().find("pmix.jctrl.id"), std::string::npos);
  EXPECT_TRUE(ControlResults(JobControl()).empty());
  EXPECT_EQ(StatusOf(Infos().Text("pmix.jctrl.restart", "x")),
            kErrNotSupported);
  EXPECT_EQ(StatusOf(Infos()
                         .Flag("pmix.jctrl.preempt", true, kRequired)
                         .Flag("pmix.jctrl.pause")),
            kErrNotSupported);
}

}  // namespace
}  // namespace canopy::core
