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
    port_.set_fits([this](const JobRequest& job, bool alone) {
      return job.apps[0].num_procs > (alone ? 4 : free_)
                 ? Status(kErrJobInsufficientResources, "no slots")
                 : Status();
    });
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
  Lines log_;
};

constexpr char kFirst[] = " 1: too few slots are free";
constexpr char kNext[] = ": jobs before it wait for slots";

TEST_F(EmbeddedPlacementTest, ARequestThatDoesNotWaitIsGrantedWithoutSlots) {
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

TEST_F(EmbeddedPlacementTest, ARequestOfAnEarlierAgentKeepsItsTurn) {
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

TEST_F(EmbeddedPlacementTest, AJobThatNeverFitsDoesNotWait) {
  free_ = 0;
  Place("a", 5);
  EXPECT_EQ(Log(), Lines{"a runs"}) << "its mapping fails";
}

}  // namespace
}  // namespace canopy::host
