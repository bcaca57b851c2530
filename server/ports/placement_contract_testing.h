// The behaviour of every implementation of PlacementPort: a test suite that
// each implementation instantiates besides its own tests.
#ifndef CANOPY_SERVER_PORTS_PLACEMENT_CONTRACT_TESTING_H_
#define CANOPY_SERVER_PORTS_PLACEMENT_CONTRACT_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/ports/placement_port.h"

namespace canopy {

// Records the decisions.
class PlacementEar : public PlacementListener {
 public:
  void OnQueued(const PlacementId& id, const PlacementQueued& it) override {
    queued.emplace_back(id, it);
  }
  void OnGranted(const PlacementId& id, const PlacementGrant& grant) override {
    granted.emplace_back(id, grant);
  }
  void OnRefused(const PlacementId& id, const Status& why) override {
    refused.emplace_back(id, why);
  }

  size_t Decisions(const std::string& request) const {
    const auto is_of = [&](const auto& it) {
      return it.first.request == request;
    };
    return static_cast<size_t>(std::ranges::count_if(granted, is_of) +
                               std::ranges::count_if(refused, is_of));
  }

  std::vector<std::pair<PlacementId, PlacementQueued>> queued;
  std::vector<std::pair<PlacementId, PlacementGrant>> granted;
  std::vector<std::pair<PlacementId, Status>> refused;
};

// A port and the decider behind it, which the test plays. Used by one thread.
class PlayedPlacement {
 public:
  virtual ~PlayedPlacement() = default;
  virtual PlacementPort* port() = 0;
  // Makes the decider grant all pending requests.
  virtual void GrantAll() = 0;
  // Runs until `done` returns true, for at most ten seconds.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  // Destroys the port, but not the decider.
  virtual void Destroy() = 0;
};

// `places` is true if the decider places jobs.
template <typename Placement>
struct PlacementKind {
  std::string name;
  std::function<std::unique_ptr<Placement>(bool places)> make;
};

inline PlacementRequest ContractRequest(const std::string& name) {
  PlacementRequest request;
  request.id = {name, 1};
  request.caller.uid = 10;
  request.caller.gid = 20;
  request.caller.process = ProcId{"parent", 3};
  request.job.apps.push_back({"", {"program"}, {}, "", 2});
  request.num_slots = 2;
  request.parent = "parent";
  return request;
}

inline PlacedJob ContractJob(const std::string& name) {
  PlacedJob job;
  job.id = {name, 1};
  job.host_job = "7";
  job.nspace = name;
  job.nodes = {{"node1", 2}};
  job.num_procs = 2;
  return job;
}

class PlacementContract
    : public testing::TestWithParam<PlacementKind<PlayedPlacement>> {
 protected:
  void Start() {
    host_ = GetParam().make(true);
    host_->port()->set_listener(&ear_);
  }
  void ExpectGranted(const std::string& name) {
    host_->port()->Place(ContractRequest(name));
    host_->RunUntil([&] {
      host_->GrantAll();
      return ear_.Decisions(name) > 0;
    });
    EXPECT_EQ(ear_.granted.back().first.request, name);
    EXPECT_EQ(ear_.Decisions(name), 1u);
  }

  PlacementEar ear_;
  std::unique_ptr<PlayedPlacement> host_;
};

TEST_P(PlacementContract, EachRequestIsGrantedOnce) {
  Start();
  ExpectGranted("first");
  ExpectGranted("second");
  host_->GrantAll();
  ExpectGranted("third");
  EXPECT_EQ(ear_.granted.size(), 3u);
  EXPECT_TRUE(ear_.refused.empty());
}

TEST_P(PlacementContract, NotificationsOfJobsCauseNoDecision) {
  Start();
  host_->port()->Launched(ContractJob("job"), false);
  host_->port()->Changed("job", core::JobPhase::kRunning, 0);
  host_->port()->Released(ContractJob("job"), {});
  host_->port()->Cancel({"nobody", 1});
  ExpectGranted("first");
  EXPECT_EQ(ear_.granted.size(), 1u);
  EXPECT_TRUE(ear_.refused.empty());
}

TEST_P(PlacementContract, ADestroyedPortReportsNoDecision) {
  Start();
  ExpectGranted("first");
  host_->port()->Place(ContractRequest("second"));
  const size_t before = ear_.Decisions("second");
  host_->Destroy();
  host_->GrantAll();
  int rounds = 0;
  host_->RunUntil([&] { return ++rounds > 3; });
  EXPECT_EQ(ear_.Decisions("second"), before);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlacementContract);

// The names of instances.
struct PlacementContractName {
  template <typename Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PLACEMENT_CONTRACT_TESTING_H_
