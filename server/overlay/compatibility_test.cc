#include "server/overlay/compatibility.h"

#include <gtest/gtest.h>

#include <variant>

namespace canopy::overlay {
namespace {

Frame WholeFrame() {
  Frame frame;
  frame.hello.emplace().recovered = true;
  frame.hello->node_name = "node1";
  frame.welcome.emplace().recovered = true;
  frame.members = Members{{{1, 7, true, "", "address", true}}};
  frame.received = 3;
  frame.planned_downtime_ms = 5;
  return frame;
}

TEST(Older, NewestForgetsNothing) {
  Frame frame = WholeFrame();
  RemoveNewerFields(kNewestVersion, &frame);
  EXPECT_TRUE(frame.hello->recovered);
  EXPECT_TRUE(frame.welcome->recovered);
  EXPECT_TRUE(frame.members->changes[0].recovered);
  EXPECT_EQ(frame.planned_downtime_ms, 5u);
  core::MessageBody body = core::OutputData{"job", 1, 2, {}, 9};
  RemoveNewerFields(kNewestVersion, &body);
  EXPECT_EQ(std::get<core::OutputData>(body).end, 9u);
}

TEST(Older, FirstKnowsNothingOfRestarts) {
  Frame frame = WholeFrame();
  RemoveNewerFields(1, &frame);
  EXPECT_FALSE(frame.hello->recovered);
  EXPECT_EQ(frame.hello->node_name, "node1");
  EXPECT_FALSE(frame.welcome->recovered);
  EXPECT_FALSE(frame.members->changes[0].recovered);
  EXPECT_EQ(frame.members->changes[0].incarnation, 7u);
  EXPECT_EQ(frame.received, 3u);
  EXPECT_EQ(frame.planned_downtime_ms, 0u);
}

TEST(Older, FirstKnowsNothingOfPositions) {
  core::MessageBody body = core::OutputData{"job", 1, 2, {}, 9};
  RemoveNewerFields(1, &body);
  EXPECT_EQ(std::get<core::OutputData>(body).end, 0u);
  EXPECT_EQ(std::get<core::OutputData>(body).rank, 1u);
  body = core::OutputCredit{"job", 4, 9};
  RemoveNewerFields(1, &body);
  EXPECT_EQ(std::get<core::OutputCredit>(body).total, 0u);
  EXPECT_EQ(std::get<core::OutputCredit>(body).bytes, 4u);
}

TEST(Older, SecondKnowsNothingOfControllersThatRestart) {
  Frame frame = WholeFrame();
  RemoveNewerFields(2, &frame);
  EXPECT_TRUE(frame.hello->recovered);
  EXPECT_EQ(frame.planned_downtime_ms, 5u);
  core::MessageBody body = core::OutputCredit{"job", 0, 9, true};
  RemoveNewerFields(3, &body);
  EXPECT_TRUE(std::get<core::OutputCredit>(body).resend);
  RemoveNewerFields(2, &body);
  EXPECT_FALSE(std::get<core::OutputCredit>(body).resend);
  EXPECT_EQ(std::get<core::OutputCredit>(body).total, 9u);
}

TEST(Older, FourthDoesNotSayThatAllIsTold) {
  core::MessageBody body = core::JobForget{"", true};
  RemoveNewerFields(5, &body);
  EXPECT_TRUE(std::get<core::JobForget>(body).sync_complete);
  RemoveNewerFields(4, &body);
  EXPECT_FALSE(std::get<core::JobForget>(body).sync_complete);
}

TEST(Older, ThirdKnowsNothingOfPositionsInInput) {
  core::MessageBody body = core::InputData{"job", {1}, {}, 9};
  RemoveNewerFields(4, &body);
  EXPECT_EQ(std::get<core::InputData>(body).end, 9u);
  RemoveNewerFields(3, &body);
  EXPECT_EQ(std::get<core::InputData>(body).end, 0u);
  body = core::InputCredit{"job", 4, 9, true};
  RemoveNewerFields(3, &body);
  EXPECT_EQ(std::get<core::InputCredit>(body).bytes, 4u);
  EXPECT_EQ(std::get<core::InputCredit>(body).total, 0u);
  EXPECT_FALSE(std::get<core::InputCredit>(body).resend);
}

}  // namespace
}  // namespace canopy::overlay
