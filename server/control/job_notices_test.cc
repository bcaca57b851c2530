#include "server/control/job_notices.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/data_range.h"
#include "server/core/event/event_info.h"
#include "server/core/event/lifecycle.h"
#include "server/core/step/input.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

using core::JobPhase;

class Sink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    events.push_back(std::get<core::EventRaised>(input));
  }
  void Drain() override {}

  std::vector<core::EventRaised> events;
};

constexpr int kKilled = 9;

// The tests use a job of two processes, which rank 1 of "job" has spawned.
class JobNoticesTest : public testing::Test {
 protected:
  JobNoticesTest() {
    auto job = std::make_shared<JobSpec>();
    job->nspace = "child";
    job->nodes = {{"node1", {}, 0, 2}};
    job->procs = {{0, 0, ""}, {0, 0, ""}};
    job->parent = {"job", 1};
    record_.job = job;
    spec_ = job.get();
    record_.connected = true;
    notices_.set_sink(&sink_);
  }

  void Change(JobPhase phase, std::vector<core::ProcExit> ends = {},
              int status = 0, Rank first_failed = kRankInvalid) {
    core::JobChanged change;
    change.nspace = "child";
    change.phase = phase;
    change.procs_started = 2;
    change.status = status;
    change.first_failed = first_failed;
    change.text = status == 0 ? "" : "why";
    change.ends = std::move(ends);
    notices_.OnJobChanged(change, &record_);
  }
  // Returns the events that were raised for certain processes, except those
  // that the spawner receives only if it names their code.
  std::vector<core::EventRaised> Events() const {
    std::vector<core::EventRaised> out;
    for (const auto& event : sink_.events) {
      if (!ForAll(event) && !IsUnasked(event)) out.push_back(event);
    }
    return out;
  }
  // Returns true for an event that the spawner receives only if it names the
  // code.
  static bool IsUnasked(const core::EventRaised& event) {
    return event.status == core::kEventProcTerminated &&
           core::HasFlag(event.info, core::kNonDefaultKey);
  }
  // Returns the codes of the events that are for all handlers, and clears the
  // events.
  std::vector<int> Told() {
    std::vector<int> out;
    for (const auto& event : Events()) {
      if (!core::HasFlag(event.info, core::kNonDefaultKey)) {
        out.push_back(event.status);
      }
    }
    sink_.events.clear();
    return out;
  }
  // Returns the codes of the events for the spawner's job, and clears the
  // events.
  std::vector<int> ToldToParent() {
    std::vector<int> out;
    for (const auto& event : Events()) {
      if (event.targets[0].rank == kRankWildcard) out.push_back(event.status);
    }
    sink_.events.clear();
    return out;
  }
  // Returns the codes of the events for the session, and clears the events.
  std::vector<int> Announced() {
    std::vector<int> out;
    for (const auto& event : sink_.events) {
      if (!ForAll(event)) continue;
      EXPECT_TRUE(core::HasFlag(event.info, core::kNonDefaultKey));
      EXPECT_EQ(event.source, (ProcId{"child", kRankWildcard}));
      out.push_back(event.status);
    }
    sink_.events.clear();
    return out;
  }
  static bool ForAll(const core::EventRaised& event) {
    return event.range == static_cast<uint8_t>(core::DataRange::kSession);
  }

  Sink sink_;
  std::vector<std::string> lines_;
  JobSpec* spec_ = nullptr;
  JobRecord record_;
  JobNotices notices_{
      [this](const std::string& nspace, const std::string& line) {
        EXPECT_EQ(nspace, "child");
        lines_.push_back(line);
      }};
};

TEST_F(JobNoticesTest, OnlyRequestedEventsAreSentToTheSpawner) {
  Change(JobPhase::kRunning);
  Change(JobPhase::kEnded, {{0, 0}, {1, 0}});
  EXPECT_TRUE(Told().empty());
  EXPECT_TRUE(lines_.empty());
}

TEST_F(JobNoticesTest, TheWarningBeforeATimeLimitIsAnEventForTheJob) {
  core::JobChanged change;
  change.nspace = "child";
  change.phase = JobPhase::kRunning;
  change.warning = {2, 30};
  notices_.OnJobChanged(change, &record_);
  ASSERT_EQ(sink_.events.size(), 1u);
  const core::EventRaised& event = sink_.events[0];
  EXPECT_EQ(event.status, core::kAllocTimeoutWarning);
  EXPECT_EQ(event.targets, (std::vector<ProcId>{{"child", kRankWildcard}}));
  EXPECT_EQ(event.id, core::IdOfTimeWarning(2));
  EXPECT_NE(event.id, core::IdOfTimeWarning(1));
  EXPECT_TRUE(core::HasFlag(event.info, core::kNonDefaultKey));
}

TEST_F(JobNoticesTest, TheSpawnerReceivesStartAndEnd) {
  record_.facts.reports = kNotifyJobEvents | kLogJobEvents;
  Change(JobPhase::kRunning);
  Change(JobPhase::kRunning);
  ASSERT_EQ(Events().size(), 2u);
  EXPECT_EQ(Events()[0].targets, (std::vector<ProcId>{{"job", 1}}));
  EXPECT_EQ(Events()[0].source, (ProcId{"child", kRankWildcard}));
  EXPECT_EQ(Told(), (std::vector<int>{core::kEventJobStart,
                                      core::kEventLaunchComplete}));
  Change(JobPhase::kEnded);
  EXPECT_EQ(Told(), std::vector<int>{core::kEventJobEnd});
  EXPECT_EQ(lines_,
            (std::vector<std::string>{"job child has started: 2 processes",
                                      "job child has ended"}));
}

TEST_F(JobNoticesTest, ASuccessfulEndIsSilentIfRequested) {
  record_.facts.reports = kNotifyCompletion | kSilentEnd;
  Change(JobPhase::kEnded);
  EXPECT_TRUE(Told().empty());
  Change(JobPhase::kEnded, {}, kErrJobNonZeroTerm);
  EXPECT_EQ(Told(), std::vector<int>{core::kEventJobEnd});
}

TEST_F(JobNoticesTest, ReportsEveryEndOrOnlyFailuresOfProcesses) {
  record_.connected = false;
  record_.facts.reports = kNotifyProcs | kLogFailedProcs;
  Change(JobPhase::kRunning, {{0, 0, false, true, true}, {1, kKilled}});
  ASSERT_EQ(Events().size(), 2u);
  EXPECT_EQ(Events()[1].source, (ProcId{"child", 1}));
  EXPECT_EQ(Told(), (std::vector<int>{core::kEventProcTerminated,
                                      core::kEventProcTerminated}));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].starts_with("job child: rank 1 on node1"));
  record_.facts.reports = kNotifyFailedProcs;
  Change(JobPhase::kRunning, {{0, 0, false, true, true}});
  EXPECT_TRUE(Told().empty());
}

TEST_F(JobNoticesTest, AConnectedJobReceivesOnlyTheFirstFailure) {
  Change(JobPhase::kEnding, {{1, kKilled}, {0, 15}}, kErrJobAbortedBySig, 1);
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(Events()[0].targets, (std::vector<ProcId>{{"job", kRankWildcard}}));
  EXPECT_EQ(Events()[0].source, (ProcId{"child", 1}));
  EXPECT_EQ(Told(), std::vector<int>{kErrProcTermWoSync});
  record_.facts.separate = true;
  Change(JobPhase::kEnding, {{1, kKilled}}, kErrJobAbortedBySig, 1);
  EXPECT_TRUE(Told().empty());
}

TEST_F(JobNoticesTest, AFailureBeforeTheJobsAreConnectedIsReportedLate) {
  spec_->recoverable = true;
  record_.connected = false;
  Change(JobPhase::kRunning, {{1, kKilled}, {0, 0}});
  EXPECT_TRUE(Told().empty());
  record_.connected = true;
  Change(JobPhase::kRunning);
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(Events()[0].source, (ProcId{"child", 1}));
  EXPECT_EQ(ToldToParent(), std::vector<int>{kErrProcTermWoSync});
  Change(JobPhase::kRunning);
  EXPECT_TRUE(Told().empty());
}

TEST_F(JobNoticesTest, AFailureInARecoverableJobIsReportedAtTheEnd) {
  spec_->recoverable = true;
  Change(JobPhase::kEnded, {{1, kKilled}, {0, 0}});
  EXPECT_EQ(ToldToParent(), std::vector<int>{kErrProcTermWoSync});
}

TEST_F(JobNoticesTest, TheSessionReceivesAllEventsOfAJob) {
  Change(JobPhase::kRunning);
  Change(JobPhase::kRunning);
  EXPECT_EQ(Announced(), (std::vector<int>{core::kEventJobStart,
                                           core::kEventLaunchComplete}));
  Change(JobPhase::kEnded, {}, kErrProcTermWoSync, 1);
  EXPECT_EQ(Announced(),
            (std::vector<int>{core::kErrJobTermWoSync, core::kEventJobEnd}));
}

TEST_F(JobNoticesTest, ASpawnerReceivesARequestedEventOnce) {
  record_.facts.reports = kNotifyCompletion;
  Change(JobPhase::kEnded);
  std::vector<core::EventRaised> ends;
  for (const auto& event : sink_.events) {
    if (event.status == core::kEventJobEnd) ends.push_back(event);
  }
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_FALSE(ForAll(ends[0]));
  EXPECT_EQ(ends[1].targets, (std::vector<ProcId>{{"job", 1}}));
  EXPECT_NE(ends[0].id, ends[1].id);
}

TEST_F(JobNoticesTest, ASuccessorRepeatsTheSameEvents) {
  Change(JobPhase::kEnded, {{1, kKilled}}, kErrJobAbortedBySig, 1);
  const std::vector<core::EventRaised> first = std::move(sink_.events);
  sink_.events.clear();
  record_.told_first = record_.told_start = false;
  Change(JobPhase::kEnded, {{1, kKilled}}, kErrJobAbortedBySig, 1);
  ASSERT_EQ(sink_.events.size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NE(first[i].id, 0u);
    EXPECT_EQ(sink_.events[i].id, first[i].id);
    EXPECT_EQ(sink_.events[i].source, first[i].source);
  }
}

TEST_F(JobNoticesTest, APersistedEndIsReportedAgain) {
  core::JobChanged end;
  end.phase = JobPhase::kEnded;
  notices_.OnRecoveredEnd(*spec_, record_.facts, end);
  EXPECT_EQ(Announced(), std::vector<int>{core::kEventJobEnd});
  end.status = kErrJobExeNotFound;
  notices_.OnRecoveredEnd(*spec_, record_.facts, end);
  EXPECT_TRUE(Announced().empty());
}

TEST_F(JobNoticesTest, ARestartIsReportedInsteadOfAFailure) {
  spec_->max_restarts = 1;
  record_.facts.reports = kLogProcs;
  Change(JobPhase::kRunning, {{1, kKilled, false, true, false, 0, true}});
  ASSERT_EQ(sink_.events.size(), 4u);
  EXPECT_TRUE(IsUnasked(sink_.events[2]));
  EXPECT_EQ(sink_.events[3].status, kErrProcRestart);
  EXPECT_TRUE(Told().empty());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].ends_with(", and is started again (restart 1 of 1)"));
}

// The user sees restarts of processes without having requested reports.
TEST_F(JobNoticesTest, EachRestartIsReportedInOneLine) {
  spec_->max_restarts = kUnlimitedRestarts;
  Change(JobPhase::kRunning, {{1, kKilled, false, true, false, 1, true}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].ends_with(", and is started again (restart 2)"))
      << lines_[0];
}

}  // namespace
}  // namespace canopy::control
