#include "tests/sim/event_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::sim {
namespace {

LocalInput TickOf(NodeId node) { return {node, 0, core::Tick{}}; }

NodeId NodeOf(const std::optional<Event>& event) {
  const auto* input = event ? std::get_if<LocalInput>(&*event) : nullptr;
  return input == nullptr ? kNoNode : input->node;
}

TEST(EventQueue, EventsOfTheSameTimeKeepTheirOrder) {
  EventQueue queue;
  queue.Post(20, TickOf(3));
  queue.Post(10, TickOf(1));
  queue.Post(10, TickOf(2));
  for (const NodeId node : {1u, 2u, 3u}) EXPECT_EQ(NodeOf(queue.Take()), node);
  EXPECT_EQ(queue.now(), 20);
  EXPECT_FALSE(queue.Take());
}

TEST(EventQueue, AnEventOfThePastDoesNotSetTheTimeBack) {
  EventQueue queue;
  queue.AdvanceTo(100);
  queue.Post(10, TickOf(1));
  EXPECT_EQ(NodeOf(queue.Take()), 1u);
  EXPECT_EQ(queue.now(), 100);
}

TEST(EventQueue, ADeadlineIsTakenAfterTheEventsOfTheSameTime) {
  EventQueue queue;
  queue.SetDeadline(7, 10);
  queue.Post(10, TickOf(1));
  EXPECT_EQ(NodeOf(queue.TakeUntil(10)), 1u);
  const std::optional<Event> due = queue.TakeUntil(10);
  ASSERT_TRUE(due);
  EXPECT_EQ(std::get<DeadlineReached>(*due).node, 7u);
  EXPECT_FALSE(queue.TakeUntil(10)) << "a deadline comes once";
}

TEST(EventQueue, ALaterDeadlineReplacesTheEarlierOne) {
  EventQueue queue;
  queue.SetDeadline(7, 10);
  queue.SetDeadline(7, 30);
  EXPECT_FALSE(queue.TakeUntil(29));
  EXPECT_EQ(queue.now(), 0);
  queue.SetDeadline(7, core::kNever);
  EXPECT_FALSE(queue.TakeUntil(1000));
}

TEST(EventQueue, RemovesInTheOrderOfTime) {
  EventQueue queue;
  queue.Post(2, TickOf(2));
  queue.Post(1, TickOf(1));
  queue.Post(0, Callback([] {}));
  std::vector<NodeId> seen;
  queue.RemoveIf<LocalInput>([&](const LocalInput& input) {
    seen.push_back(input.node);
    return input.node == 1;
  });
  EXPECT_EQ(seen, (std::vector<NodeId>{1, 2}));
  EXPECT_EQ(queue.size(), 2u);
}

}  // namespace
}  // namespace canopy::sim
