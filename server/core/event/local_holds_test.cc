#include "server/core/event/local_holds.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/core/core_testing.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

// The agent of ranks 0 and 1; rank 2 is on node 1. All ranks stop.
class LocalHoldsTest : public testing::Test {
 protected:
  LocalHoldsTest() : jobs_(0), local_(jobs_) {
    local_.set_events(&events_);
    JobSpec job = *JobOn("a", {0, 0, 1});
    job.debug.on_exec.emplace();
    job.debug.in_init.emplace();
    jobs_.Add(std::make_shared<const JobSpec>(job));
  }
  // Returns the time for which the only due notification reports the job as
  // held, as of `now`; -1 if it reports that the job is not held any more; -2
  // if there is no notification.
  TimeNs Said(TimeNs now) {
    const std::vector<EventRaised> due = Due();
    if (due.empty()) return -2;
    EXPECT_EQ(due.size(), 1u);
    EventMessage event;
    event.origin = 7;
    event.number = 9;
    event.status = due[0].status;
    event.source = due[0].source;
    event.info = due[0].info;
    const auto word = HoldWordIn(now, event);
    EXPECT_TRUE(word && word->first == "a" && word->second.node == 7 &&
                word->second.number == 9);
    return word->second.holds ? now - word->second.since : -1;
  }
  PersistedRecord Record() {
    Take();
    EXPECT_FALSE(records_.empty());
    return records_.back();
  }
  // Returns the notifications that were posted since the last call.
  std::vector<EventRaised> Due() {
    Take();
    return std::exchange(due_, {});
  }
  void Take() {
    while (!events_.empty()) {
      CoreEvent event = events_.Take();
      if (auto* due = std::get_if<EventDue>(&event)) {
        due_.push_back(std::move(due->event));
      } else if (auto* holds = std::get_if<HoldsRecorded>(&event)) {
        records_.push_back({holds->record.key, holds->record.value});
      }
    }
  }

  CoreEvents events_;
  std::vector<EventRaised> due_;
  std::vector<PersistedRecord> records_;
  JobTable jobs_;
  LocalHolds local_;
};

TEST_F(LocalHoldsTest, TheFirstHoldAndTheLastReleaseCauseNotifications) {
  local_.OnStarted(5, "a");
  EXPECT_EQ(Said(5), 0);
  local_.OnReleased(6, {"a", 0}, false);
  EXPECT_EQ(Said(6), -2) << "the other one is held";
  local_.OnReleased(7, {"a", 1}, false);
  EXPECT_EQ(Said(7), -1);
  local_.OnWaits(8, {"a", 1});
  EXPECT_EQ(Said(8), 0);
  local_.OnWaits(9, {"a", 0});
  local_.OnFree(9, {"a", 1});
  EXPECT_EQ(Said(9), -2);
  local_.OnFree(9, {"a", 0});
  EXPECT_EQ(Said(9), -1);
  EXPECT_TRUE(local_.empty());
}

TEST_F(LocalHoldsTest, DescribesTheHeldProcesses) {
  std::vector<Waiting> waiting;
  local_.Describe(5, "", &waiting);
  EXPECT_TRUE(waiting.empty());
  local_.OnStarted(5'000'000, "a");
  local_.OnReleased(6'000'000, {"a", 1}, false);
  local_.OnWaits(7'000'000, {"a", 1});
  local_.Describe(2'005'000'000, "b", &waiting);
  EXPECT_TRUE(waiting.empty());
  local_.Describe(2'005'000'000, "a", &waiting);
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[0].operation, kHeldAtExec);
  EXPECT_EQ(waiting[0].age_ms, 2000u);
  ASSERT_EQ(waiting[0].missing.size(), 1u);
  EXPECT_EQ(waiting[0].missing[0], (MissingProc{{"a", 0}, 0, true}));
  EXPECT_EQ(waiting[1].operation, kHeldInProgram);
  EXPECT_EQ(waiting[1].missing[0].proc.rank, 1u);
}

TEST_F(LocalHoldsTest, AReleaseBeforeTheStopIsUsedOnce) {
  local_.OnStarted(5, "a");
  EXPECT_EQ(Said(5), 0);
  for (const Rank rank : {0u, 1u}) local_.OnReleased(6, {"a", rank}, true);
  EXPECT_EQ(Said(6), -1);
  local_.OnWaits(7, {"a", 0});
  EXPECT_EQ(Said(7), -2);
  local_.OnWaits(8, {"a", 0});
  EXPECT_EQ(Said(8), 0) << "the next time";
  local_.OnReleased(9, {"a", 0}, true);
  EXPECT_EQ(Said(9), -1);
  local_.OnWaits(10, {"a", 0});
  EXPECT_EQ(Said(10), 0) << "that release was for the last time";
}

TEST_F(LocalHoldsTest, ASuccessorHoldsTheSameProcesses) {
  local_.OnStarted(5, "a");
  local_.OnReleased(6, {"a", 0}, false);
  const PersistedRecord record = Record();
  local_.OnFree(6, {"a", 1});
  Due();
  EXPECT_TRUE(local_.empty());
  local_.Recover(20, "a", record);
  EXPECT_EQ(Said(20), 15);
  local_.OnReleased(21, {"a", 1}, false);
  EXPECT_EQ(Said(21), -1);
  local_.Recover(22, "a", Record());
  EXPECT_EQ(Said(22), -2);
}

TEST_F(LocalHoldsTest, RecordsOfOtherJobsOrTypesAreIgnored) {
  local_.OnStarted(5, "a");
  PersistedRecord record = Record();
  local_.OnFree(5, {"a", 0});
  local_.OnFree(5, {"a", 1});
  Due();
  local_.Recover(6, "none", record);
  local_.Recover(6, "a", {"commit x", record.value});
  local_.Recover(6, "a", {record.key, Bytes(std::string("\xff\xff"))});
  EXPECT_EQ(Said(6), -2);
}

TEST_F(LocalHoldsTest, ANewPeerIsNotifiedOfTheHolds) {
  local_.OnPeerIsNew(4);
  EXPECT_EQ(Said(4), -2);
  local_.OnStarted(5, "a");
  Said(5);
  local_.OnPeerIsNew(9);
  EXPECT_EQ(Said(9), 4);
  local_.OnJobRemoved("a");
  EXPECT_EQ(Said(10), -1);
}

TEST_F(LocalHoldsTest, HoldWordInAcceptsOnlyNotificationsOfAgents) {
  EventMessage event;
  event.status = -3;
  event.source = {"a", kRankWildcard};
  EXPECT_FALSE(HoldWordIn(1, event));
  local_.OnStarted(5, "a");
  event.info = Due()[0].info;
  EXPECT_TRUE(HoldWordIn(5, event));
  event.source.rank = 0;
  EXPECT_FALSE(HoldWordIn(5, event)) << "a process can raise that";
}

}  // namespace
}  // namespace canopy::core
