#include "server/local/event_frames.h"

#include <memory>

#include "gtest/gtest.h"
#include "server/local/frames.h"

namespace canopy::local {
namespace {

using core::ClientEvent;

std::shared_ptr<const ClientEvent> Event(int status) {
  return std::make_shared<ClientEvent>(
      ClientEvent{{{"job", 1}, 5}, status, {"job", 1}, 3, Bytes("infos")});
}

TEST(EventFrames, AllReceiversShareOneFrame) {
  EventFrames frames;
  const auto event = Event(-12);
  const Bytes first = frames.Of(event);
  EXPECT_EQ(first.view(), MakeEvent(*event));
  EXPECT_EQ(frames.Of(event).view().data(), first.view().data());
}

TEST(EventFrames, EachEventHasAFrameOfItsOwn) {
  EventFrames frames;
  (void)frames.Of(Event(-12));
  const auto other = Event(-13);
  EXPECT_EQ(frames.Of(other).view(), MakeEvent(*other));
}

}  // namespace
}  // namespace canopy::local
