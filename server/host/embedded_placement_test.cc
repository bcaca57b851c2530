#include "server/host/embedded_placement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace canopy::host {
namespace {

// An overlay of four slots, of which `free_` are free.
class EmbeddedPlacementTest : public testing::Test, public PlacementListener {
 protected:
  EmbeddedPlacementTest() {
    port_.set_listener(this);
    port_.set_fits([this](const JobRequest& job, EmbeddedPlacement::Room room) {
      return job.apps[0].num_procs > SlotsIn(room)
                 ? Status(kErrJobInsufficientResources, "no slots")
                 : Status();
    });
    port_.set_away(
        [this] { return std::string(away_ == 0 ? "" : "n2 is away"); });
  }

  void OnQueued(const PlacementId& id, const PlacementQueued& queued) override {
    log_.push_back(id.request + " " + std::to_string(queued.position) + ": " +
                   queued.reason);
  }
  void OnGranted(const PlacementId& id, const PlacementGrant&) override {
    log_.push_back(id.request + " runs");
  }
  void OnRefused(const PlacementId&, const Status&) override { FAIL(); }

  void Place(const std::string& name, uint32_t procs, bool waits = true,
             int64_t since_ms = 0) {
    PlacementRequest request;
    request.id.request = name;
    request.job.apps.resize(1);
    request.job.apps[0].num_procs = procs;
    request.job.places.waits = waits;
    request.since_ms = since_ms;
    port_.Place(request);
  }
  uint32_t SlotsIn(EmbeddedPlacement::Room room) const {
    switch (room) {
      case EmbeddedPlacement::Room::kNow:
        return free_;
      case EmbeddedPlacement::Room::kWithAway:
        return free_ + away_;
      default:
        return 4;
    }
  }
  std::vector<std::string> Log() { return std::exchange(log_, {}); }
  std::vector<std::string> LogAfter(uint32_t free) {
    free_ = free;
    port_.SlotsFreed();
    loop_.RunOnce(0);
    return Log();
  }
  using Lines = std::vector<std::string>;

  EventLoop loop_;
  EmbeddedPlacement port_{&loop_};
  uint32_t free_ = 4;
  uint32_t away_ = 0;  // further slots, of agents that do not answer
  Lines log_;
};

constexpr char kFirst[] = " 1: too few slots are free";
constexpr char kNext[] = ": jobs before it wait for slots";

TEST_F(EmbeddedPlacementTest,
       ARequestThatDoesNotWaitIsGrantedWithoutFreeSlots) {
  free_ = 0;
  Place("a", 2, /*waits=*/false);
  EXPECT_EQ(Log(), Lines{"a runs"});
}

TEST_F(EmbeddedPlacementTest, JobsWaitForSlotsInTheOrderOfTheirRequests) {
  free_ = 1;
  Place("a", 2);
  EXPECT_EQ(Log(), Lines{std::string("a") + kFirst});
  Place("b", 1);
  EXPECT_EQ(Log(),
            (Lines{std::string("a") + kFirst, std::string("b 2") + kNext}))
      << "b would fit, and waits for its turn";
  EXPECT_EQ(LogAfter(4), (Lines{"a runs", "b runs"}));
}

TEST_F(EmbeddedPlacementTest, ARequestOfAnEarlierAgentKeepsItsPlaceInTheQueue) {
  free_ = 0;
  Place("late", 1, true, 20);
  Place("early", 1, true, 10);
  EXPECT_EQ(LogAfter(1),
            (Lines{std::string("late") + kFirst, std::string("early") + kFirst,
                   std::string("late 2") + kNext, "early runs", "late runs"}));
}

TEST_F(EmbeddedPlacementTest, CancellingTheFirstRequestGrantsTheNext) {
  free_ = 1;
  Place("a", 2);
  Place("b", 1);
  Log();
  port_.Cancel({"a", 1});
  EXPECT_TRUE(Log().empty()) << "several may be cancelled together";
  loop_.RunOnce(0);
  EXPECT_EQ(Log(), Lines{"b runs"});
}

constexpr char kAway[] =
    " 0: n2 is away; if it has ended, 'canopy up --replace' starts another one";

TEST_F(EmbeddedPlacementTest, AJobWaitsForAgentsThatItNeeds) {
  free_ = 2;
  away_ = 2;
  Place("a", 2, /*waits=*/false);
  EXPECT_EQ(Log(), Lines{"a runs"}) << "it fits beside them";
  Place("b", 3, /*waits=*/false);
  EXPECT_EQ(Log(), Lines{std::string("b") + kAway});
  Place("c", 1, /*waits=*/false);
  EXPECT_EQ(Log(), Lines{"c runs"}) << "it does not wait for others";
  away_ = 0;
  EXPECT_EQ(LogAfter(4), Lines{"b runs"}) << "they are back";
  free_ = 2;
  away_ = 2;
  Place("d", 3, /*waits=*/false);
  Log();
  away_ = 0;
  EXPECT_EQ(LogAfter(2), Lines{"d runs"}) << "lost: its mapping fails";
  away_ = 2;
  Place("e", 3, /*waits=*/false);
  Log();
  port_.Cancel({"e", 1});
  EXPECT_TRUE(LogAfter(4).empty());
}

TEST_F(EmbeddedPlacementTest, TheFirstQueuedJobWaitsForAbsentAgents) {
  free_ = 1;
  away_ = 3;
  Place("a", 4);
  EXPECT_EQ(Log(), Lines{std::string("a") + kAway});
  away_ = 0;
  EXPECT_EQ(LogAfter(1), Lines{std::string("a") + kFirst})
      << "other jobs have the slots";
  EXPECT_EQ(LogAfter(4), Lines{"a runs"});
}

TEST_F(EmbeddedPlacementTest, ASpawnDoesNotWaitForAgents) {
  free_ = 0;
  away_ = 4;
  PlacementRequest request;
  request.id.request = "spawned";
  request.job.apps.resize(1);
  request.job.apps[0].num_procs = 1;
  request.caller.process = ProcId{"job", 0};
  port_.Place(request);
  EXPECT_EQ(Log(), Lines{"spawned runs"}) << "the planner decides";
}

TEST_F(EmbeddedPlacementTest, AJobThatNeverFitsDoesNotWait) {
  free_ = 0;
  Place("a", 5);
  EXPECT_EQ(Log(), Lines{"a runs"}) << "its mapping fails";
}

}  // namespace
}  // namespace canopy::host
