#include "server/local/event_frames.h"

#include "gtest/gtest.h"
#include "server/local/frames.h"

namespace canopy::local {
namespace {

const core::NotifyClient kEvent{7, {{"job", 1}, 5}, -12, {"job", 1},
                                3, Bytes("infos")};

TEST(EventFrames, OneForAllReceivers) {
  EventFrames frames;
  const Bytes first = frames.Of(kEvent);
  EXPECT_EQ(first.view(), MakeEvent(kEvent));
  core::NotifyClient other = kEvent;
  other.client = 8;
  EXPECT_EQ(frames.Of(other).view().data(), first.view().data());
}

TEST(EventFrames, WhateverDiffersIsAnotherFrame) {
  EventFrames frames;
  for (auto change :
       {+[](core::NotifyClient* e) { ++e->id.number; },
        +[](core::NotifyClient* e) { e->id.raiser.rank = 2; },
        +[](core::NotifyClient* e) { --e->status; },
        +[](core::NotifyClient* e) { e->source.rank = 2; },
        +[](core::NotifyClient* e) { ++e->range; },
        +[](core::NotifyClient* e) { e->info = Bytes("others"); }}) {
    (void)frames.Of(kEvent);
    core::NotifyClient other = kEvent;
    change(&other);
    EXPECT_EQ(frames.Of(other).view(), MakeEvent(other));
  }
}

}  // namespace
}  // namespace canopy::local
