#include "server/core/event/event_journal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

class EventJournalTest : public testing::Test {
 protected:
  EventJournalTest() {
    event_.source = {"job", 7};
    event_.number = 5;
    journal_.set_enabled(true);
  }

  // Returns the number of events after which a record is erased.
  uint64_t EventsUntilErased(EventJournal* journal) {
    for (uint64_t n = 1; n <= 2 * kEventsUntilErased; ++n) {
      Actions actions;
      journal->OnEvent({0, actions});
      if (actions.empty()) continue;
      EXPECT_TRUE(All<PersistRecord>(actions).at(0).value.view().empty());
      return n;
    }
    return 0;
  }

  EventMessage event_;
  EventJournal journal_;
};

TEST_F(EventJournalTest, ARecordIsErasedAfterManyLaterEvents) {
  Actions actions;
  journal_.Persist({0, actions}, event_);
  EXPECT_EQ(All<PersistRecord>(actions).size(), 1u);
  EXPECT_EQ(EventsUntilErased(&journal_), kEventsUntilErased + 1);
}

// A record is erased after fewer than 2 * kEventsUntilErased events in total,
// however often the agent is restarted.
TEST_F(EventJournalTest, EachRecoveryHalvesTheRemainingLifeOfARecord) {
  Actions actions;
  journal_.Persist({0, actions}, event_);
  uint64_t total = kEventsUntilErased;
  for (int restart = 0; restart < 20; ++restart) {
    const PersistRecord last = All<PersistRecord>(actions).back();
    actions.clear();
    EventJournal successor;
    successor.set_enabled(true);
    const auto event =
        successor.Recover({0, actions}, "job", {last.key, last.value});
    ASSERT_TRUE(event);
    EXPECT_EQ(event->number, 5u);
    total += EventsUntilErased(&successor) - 1;
  }
  EXPECT_LT(total, 2 * kEventsUntilErased);
}

TEST_F(EventJournalTest, OverwrittenRecordsAreNotErased) {
  Actions actions;
  for (uint64_t n = 0; n < kEventsInJournal + 3; ++n) {
    journal_.Persist({0, actions}, event_);
  }
  actions.clear();
  for (uint64_t n = 0; n <= kEventsUntilErased; ++n) {
    journal_.OnEvent({0, actions});
  }
  EXPECT_EQ(All<PersistRecord>(actions).size(), kEventsInJournal);
}

TEST_F(EventJournalTest, TheRecordsOfAnEndedJobAreForgotten) {
  Actions actions;
  journal_.Persist({0, actions}, event_);
  journal_.OnJobRemoved("job");
  EXPECT_EQ(EventsUntilErased(&journal_), 0u);
}

TEST_F(EventJournalTest, WithoutAJournalNoRecordIsWritten) {
  journal_.set_enabled(false);
  Actions actions;
  journal_.Persist({0, actions}, event_);
  EXPECT_TRUE(actions.empty());
}

}  // namespace
}  // namespace canopy::core
