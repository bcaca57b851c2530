#include "server/overlay/compatibility.h"

#include <gtest/gtest.h>

namespace canopy::overlay {
namespace {

Frame WholeFrame() {
  Frame frame;
  frame.hello.emplace().recovered = true;
  frame.members = Members{{{1, 7, true, "", "address", true, 6}}};
  frame.received = 3;
  frame.planned_downtime_ms = 5;
  return frame;
}

TEST(Compatibility, NewestRemovesNothing) {
  Frame frame = WholeFrame();
  RemoveNewerFields(kNewestVersion, &frame);
  EXPECT_EQ(frame.members->changes[0].version, 6u);
}

TEST(Compatibility, Version5KnowsNoVersionsOfMembers) {
  Frame frame = WholeFrame();
  RemoveNewerFields(5, &frame);
  EXPECT_EQ(frame.members->changes[0].version, 0u);
  EXPECT_EQ(frame.members->changes[0].incarnation, 7u);
  EXPECT_TRUE(frame.members->changes[0].recovered);
  EXPECT_TRUE(frame.hello->recovered);
  EXPECT_EQ(frame.received, 3u);
  EXPECT_EQ(frame.planned_downtime_ms, 5u);
}

TEST(Compatibility, AFrameWithoutMembersStays) {
  Frame frame;
  RemoveNewerFields(5, &frame);
  EXPECT_FALSE(frame.members.has_value());
}

}  // namespace
}  // namespace canopy::overlay
