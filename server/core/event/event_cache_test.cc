#include "server/core/event/event_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "server/core/pset/set_keys.h"

namespace canopy::core {
namespace {

CachedEvent Event(const std::string& nspace, size_t bytes) {
  CachedEvent event;
  event.message.source = {nspace, 0};
  event.message.info = Bytes(std::string(bytes, 'x'));
  return event;
}

TEST(EventCache, TheNumberOfEventsIsBounded) {
  EventCache cache;
  for (size_t i = 0; i < kMaxCachedEvents + 10; ++i) cache.Add(Event("job", 0));
  EXPECT_EQ(cache.events().size(), kMaxCachedEvents);
}

TEST(EventCache, TheBytesOfEventsAreBounded) {
  constexpr size_t kBig = kMaxCachedEventBytes / 8;
  EventCache cache;
  for (int i = 0; i < 20; ++i) cache.Add(Event("job", kBig));
  EXPECT_EQ(cache.events().size(), 7u);
  cache.OnJobOver("job");
  for (int i = 0; i < 20; ++i) cache.Add(Event("other", kBig));
  EXPECT_EQ(cache.events().size(), 7u);
}

TEST(EventCache, ProcessSetsAreDroppedWhenTheirJobIsOver) {
  EventCache cache;
  CachedEvent set = Event("job", 1);
  set.message.status = kSetDefine;
  set.message.request = 4;
  cache.Add(set);
  cache.Add(Event("job", 1));
  cache.Add(Event("other", 1));
  cache.OnJobOver("job");
  ASSERT_EQ(cache.events().size(), 2u);
  EXPECT_TRUE(cache.events()[0].job_over);
  EXPECT_FALSE(cache.events()[1].job_over);
  EXPECT_FALSE(cache.Knows(IdOf(set.message)));
}

TEST(EventCache, AnEventLargerThanTheCacheIsNotKept) {
  EventCache cache;
  cache.Add(Event("job", kMaxCachedEventBytes));
  EXPECT_TRUE(cache.events().empty());
}

TEST(EventCache, AClientThatIsGoneIsForgottenAsAReceiver) {
  EventCache cache;
  CachedEvent event = Event("job", 0);
  event.delivered = {3, 4};
  cache.Add(event);
  cache.OnClientGone(3);
  EXPECT_EQ(cache.events()[0].delivered, std::set<ClientId>{4});
}

}  // namespace
}  // namespace canopy::core
