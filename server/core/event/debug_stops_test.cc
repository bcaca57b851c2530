#include "server/core/event/debug_stops.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "server/core/core_testing.h"
#include "server/core/data_range.h"

namespace canopy::core {
namespace {

constexpr int kRelease = -3;
constexpr int kReady = -58;

// The agent of ranks 0 and 1 is the controller; ranks 2 and 3 are on node 1.
class DebugStopsTest : public testing::Test {
 protected:
  DebugStopsTest()
      : jobs_(0), stops_(0, jobs_, [](const std::string&) { return 0; }) {
    stops_.set_events(&events_);
  }

  void Add(const JobDebug& debug) {
    JobSpec job = *JobOn("a", {0, 0, 1, 1});
    job.debug = debug;
    jobs_.Add(std::make_shared<const JobSpec>(job));
  }
  static JobDebug InInit(std::vector<Rank> ranks = {}) {
    JobDebug debug;
    debug.in_init = std::move(ranks);
    return debug;
  }
  static EventMessage Event(int status, const ProcId& source, DataRange range) {
    EventMessage event;
    event.status = status;
    event.source = source;
    event.range = static_cast<uint8_t>(range);
    return event;
  }
  void Ready(Rank rank, const std::string& breakpoint = "pmix-init",
             uint64_t number = 0) {
    EventMessage event = Event(kReady, {"a", rank}, DataRange::kRm);
    event.request = number == 0 ? ++last_ : number;
    Encoder info;
    info.PutSize(1);
    info.PutString("pmix.brkpnt");
    info.PutUint32(0);
    info.PutUint16(PMIX_STRING);
    info.PutString(breakpoint);
    event.info = Bytes(info.Take());
    stops_.OnEvent(0, event);
  }
  // Delivers an event of the agent of node `from`, as it arrives by the tree.
  void Return(const EventRaised& raised, NodeId from) {
    EventMessage event = Event(raised.status, raised.source, DataRange::kRm);
    event.range = raised.range;
    event.targets = raised.targets;
    event.info = raised.info;
    event.origin = from;
    stops_.OnEvent(0, event);
  }
  // Returns the events that were posted since the last call, without those
  // about the holds of this node.
  std::vector<EventRaised> Events() {
    std::vector<EventRaised> due;
    for (EventDue& one : TakeAll<EventDue>(&events_)) {
      if (one.event.status == kReady) due.push_back(std::move(one.event));
    }
    return due;
  }
  // Returns the only event that is due.
  EventRaised Due() {
    const std::vector<EventRaised> due = Events();
    EXPECT_EQ(due.size(), 1u);
    return due.empty() ? EventRaised() : due[0];
  }

  CoreEvents events_;
  JobTable jobs_;
  DebugStops stops_;
  uint64_t last_ = 0;
};

TEST_F(DebugStopsTest, TheEventIsRaisedOnceWhenAllRanksWait) {
  Add(InInit());
  Ready(0);
  EXPECT_TRUE(Events().empty());
  Ready(1);
  const EventRaised here = Due();
  EXPECT_EQ(here.range, static_cast<uint8_t>(DataRange::kCustom));
  Return(here, 0);
  EXPECT_TRUE(Events().empty()) << "the other node is missing";
  Return(here, 1);
  const EventRaised ready = Due();
  EXPECT_EQ(ready.status, kReady);
  EXPECT_EQ(ready.range, static_cast<uint8_t>(DataRange::kSession));
  EXPECT_EQ(ready.source, (ProcId{"a", kRankWildcard}));
  EXPECT_NE(ready.id, 0u);
  EXPECT_EQ(stops_.size(), 0u);
}

// A successor gets the events of the processes again.
TEST_F(DebugStopsTest, EqualEventsGiveTheReportOfANodeTheSameId) {
  Add(InInit());
  Ready(0, "pmix-init", 7);
  Ready(1, "pmix-init", 8);
  const uint64_t first = Due().id;
  EXPECT_NE(first, 0u);
  Actions none;
  stops_.OnJobRemoved({0, none}, {"a"});
  Ready(1, "pmix-init", 8);
  Ready(0, "pmix-init", 7);
  EXPECT_EQ(Due().id, first);
  Ready(0, "pmix-init", 9);
  Ready(1, "pmix-init", 8);
  EXPECT_NE(Due().id, first) << "another time";
}

TEST_F(DebugStopsTest, OnlyTheNamedRanksAreAwaited) {
  Add(InInit({1}));
  Ready(1);
  Return(Due(), 0);
  EXPECT_EQ(Due().range, static_cast<uint8_t>(DataRange::kSession));
}

TEST_F(DebugStopsTest, EachBreakpointOfTheProgramRaisesAnEventOfItsOwn) {
  JobDebug debug;
  debug.in_app = std::vector<Rank>{0};
  Add(debug);
  Ready(0);
  EXPECT_TRUE(Events().empty()) << "nobody is to stop in PMIx_Init";
  Ready(0, "loop");
  Return(Due(), 0);
  const EventRaised first = Due();
  Ready(0, "loop");
  Return(Due(), 0);
  EXPECT_NE(Due().id, first.id);
}

TEST_F(DebugStopsTest, TheEventIsRaisedWhenAllRanksAreStoppedAtTheirExec) {
  JobDebug debug;
  debug.on_exec = std::vector<Rank>{1, 2};
  debug.in_init.emplace();
  Add(debug);
  stops_.OnStarted(0, "a");
  const EventRaised here = Due();
  Return(here, 0);
  EXPECT_TRUE(Events().empty()) << "the other node is missing";
  Return(here, 1);
  const EventRaised ready = Due();
  EXPECT_EQ(ready.status, kReady);
  EXPECT_EQ(ready.range, static_cast<uint8_t>(DataRange::kSession));
  EXPECT_NE(ready.info.view().find("pmix-exec"), std::string_view::npos);
  // A successor raises the event of the stop at the exec with the same id. The
  // event of the first stop in PMIx_Init has another id.
  Actions none;
  stops_.OnJobRemoved({0, none}, {"a"});
  Return(here, 0);
  Return(here, 1);
  EXPECT_EQ(Due().id, ready.id);
  Ready(0);
  Ready(1);
  const EventRaised in_init = Due();
  Return(in_init, 0);
  Return(in_init, 1);
  EXPECT_NE(Due().id, ready.id);
}

TEST_F(DebugStopsTest, AProcessCannotReportAStopAtItsExec) {
  JobDebug debug;
  debug.on_exec.emplace();
  Add(debug);
  Ready(0, "pmix-exec");
  Ready(1, "pmix-exec");
  EXPECT_TRUE(Events().empty());
}

TEST_F(DebugStopsTest, NumberAndLengthOfBreakpointsAreLimited) {
  JobDebug debug;
  debug.in_app.emplace();
  Add(debug);
  for (int i = 0; i < 40; ++i) Ready(0, "b" + std::to_string(i));
  EXPECT_EQ(stops_.size(), kMaxBreakpoints);
  Ready(0, std::string(kMaxBreakpointName + 1, 'x'));
  EXPECT_EQ(stops_.size(), kMaxBreakpoints);
  Actions none;
  stops_.OnJobRemoved({0, none}, {"a"});
  EXPECT_EQ(stops_.size(), 0u);
}

TEST_F(DebugStopsTest, EventsWithoutDebuggingAreIgnored) {
  Add({});
  Ready(0);
  Ready(1);
  EXPECT_TRUE(Events().empty());
  stops_.OnEvent(0, Event(kRelease, {"tool", 0}, DataRange::kSession));
  EXPECT_TRUE(TakeAll<StopReleased>(&events_).empty());
}

TEST_F(DebugStopsTest, AReleaseContinuesTheStoppedProcessesOfThisNode) {
  JobDebug debug;
  debug.on_exec = std::vector<Rank>{1, 2};
  Add(debug);
  EventMessage release = Event(kRelease, {"tool", 0}, DataRange::kCustom);
  release.targets = {{"a", 0}};
  stops_.OnEvent(0, release);
  EXPECT_TRUE(TakeAll<StopReleased>(&events_).empty());
  release.targets = {{"a", kRankWildcard}};
  stops_.OnEvent(0, release);
  const auto released = TakeAll<StopReleased>(&events_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].signal.nspace, "a");
  EXPECT_EQ(released[0].signal.signal, SIGCONT);
  EXPECT_EQ(released[0].signal.ranks, std::vector<Rank>{1});
  stops_.OnEvent(0, Event(kRelease, {"tool", 0}, DataRange::kNamespace));
  EXPECT_TRUE(TakeAll<StopReleased>(&events_).empty());
}

}  // namespace
}  // namespace canopy::core
