#include "common/recent_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy {
namespace {

TEST(RecentEvents, EachIsNewOnce) {
  RecentEvents events(8);
  EXPECT_TRUE(events.Note({{"job", 1}, 5}));
  EXPECT_FALSE(events.Note({{"job", 1}, 5}));
  EXPECT_TRUE(events.Note({{"job", 2}, 5}));
  EXPECT_TRUE(events.Note({{"", 1}, 5}));
  EXPECT_TRUE(events.Knows({{"job", 2}, 5}));
  EXPECT_FALSE(events.Knows({{"job", 2}, 6}));
}

TEST(RecentEvents, TheOldestIsForgotten) {
  RecentEvents events(2);
  for (uint64_t number = 1; number <= 3; ++number) {
    EXPECT_TRUE(events.Note({{"job", 0}, number}));
  }
  std::vector<uint64_t> known;
  events.ForEach([&](const EventId& id) { known.push_back(id.number); });
  EXPECT_EQ(known, (std::vector<uint64_t>{2, 3}));
  EXPECT_TRUE(events.Note({{"job", 0}, 1}));
}

}  // namespace
}  // namespace canopy
