#include "common/recent_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace canopy {
namespace {

TEST(RecentEvents, AnEventIsNewOnlyOnce) {
  RecentEvents events(8);
  EXPECT_TRUE(events.Note({{"job", 1}, 5}));
  EXPECT_FALSE(events.Note({{"job", 1}, 5}));
  EXPECT_TRUE(events.Note({{"job", 2}, 5}));
  EXPECT_TRUE(events.Note({{"", 1}, 5}));
  EXPECT_TRUE(events.Knows({{"job", 2}, 5}));
  EXPECT_FALSE(events.Knows({{"job", 2}, 6}));
}

TEST(RecentEvents, AtTheLimitTheOldestEventIsForgotten) {
  RecentEvents events(2);
  for (uint64_t number = 1; number <= 3; ++number) {
    EXPECT_TRUE(events.Note({{"job", 0}, number}));
  }
  std::vector<uint64_t> known;
  events.ForEach([&](const EventId& id) { known.push_back(id.number); });
  EXPECT_EQ(known, (std::vector<uint64_t>{2, 3}));
  EXPECT_TRUE(events.Note({{"job", 0}, 1}));
}

TEST(RecentEvents, VisitsTheEventsInOrderOfArrival) {
  constexpr uint64_t kLast = UINT64_MAX;
  const std::vector<EventId> came = {{{"job", 0}, 7},     {{"job", 0}, 8},
                                     {{"job", 1}, 9},     {{"job", 0}, 9},
                                     {{"job", 0}, kLast}, {{"job", 0}, 0}};
  RecentEvents events(5);
  for (const EventId& id : came) EXPECT_TRUE(events.Note(id));
  std::vector<EventId> known;
  events.ForEach([&](const EventId& id) { known.push_back(id); });
  EXPECT_EQ(known, std::vector<EventId>(came.begin() + 1, came.end()));
  EXPECT_FALSE(events.Knows(came.front()));
}

// Compares with a plain implementation. There are few raisers and numbers, so
// that most events are repeated.
TEST(RecentEvents, KeepsTheLatestEvents) {
  constexpr size_t kLimit = 16;
  std::mt19937 random(1);
  RecentEvents events(kLimit);
  std::deque<EventId> expected;
  uint64_t next = 0;
  for (int i = 0; i < 50'000; ++i) {
    next = random() % 4 == 0 ? random() % 40 : next + 1;
    const EventId id{{"job", static_cast<Rank>(random() % 8 == 0)}, next};
    const bool known =
        std::find(expected.begin(), expected.end(), id) != expected.end();
    ASSERT_EQ(events.Knows(id), known);
    ASSERT_EQ(events.Note(id), !known);
    if (!known) expected.push_back(id);
    if (expected.size() > kLimit) expected.pop_front();
    std::deque<EventId> all;
    events.ForEach([&](const EventId& one) { all.push_back(one); });
    ASSERT_EQ(all, expected);
  }
}

}  // namespace
}  // namespace canopy
