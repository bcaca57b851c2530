#include "tests/sim/shims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace canopy::sim {
namespace {

// Two ranks on node 0, with an agent that persists.
class ShimsTest : public testing::Test {
 protected:
  ShimsTest() {
    jobs_.Add(job_);
    settings_.hooks.on_start = [this](const ProcId& proc) {
      started_.push_back(proc);
    };
    core::PrepareLocal prepare;
    prepare.job = std::make_shared<const JobSpec>(job_);
    prepare.layout = std::make_shared<const JobLayout>(job_);
    shims_.On(0, prepare);
    core::StartLocal start{"job"};
    shims_.On(0, start);
    (void)Inputs();
  }
  // Returns the inputs of the agent, in order of time.
  std::vector<core::Input> Inputs() {
    std::vector<core::Input> out;
    while (std::optional<Event> event = queue_.Take()) {
      if (auto* callback = std::get_if<Callback>(&*event)) (*callback)();
      auto* input = std::get_if<LocalInput>(&*event);
      if (input != nullptr) out.push_back(std::move(input->input));
    }
    return out;
  }
  template <typename T>
  static size_t CountOf(const std::vector<core::Input>& inputs) {
    return std::ranges::count_if(
        inputs, [](const auto& in) { return std::holds_alternative<T>(in); });
  }

  const JobSpec job_ = MakeJob("job", std::vector<NodeId>{0, 0});
  Settings settings_{true};
  Errors errors_;
  Random random_{1, settings_.options};
  EventQueue queue_;
  JobCatalog jobs_;
  Membership members_{1, 2, queue_, random_};
  AgentInputs inputs_{queue_, members_};
  std::vector<ProcId> started_;
  std::vector<ProcId> ended_;
  Shims shims_{1,       settings_,
               jobs_,   queue_,
               inputs_, random_,
               errors_, [this](const ProcId& proc) {
                 ended_.push_back(proc); }};
};

TEST_F(ShimsTest, StartsTheRanksOfItsNode) {
  EXPECT_EQ(started_.size(), 2u);
  EXPECT_TRUE(shims_.IsRunning({"job", 0}));
  core::StartLocal again{"job"};
  shims_.On(0, again);
  EXPECT_EQ(errors_.size(), 1u) << "started twice";
}

TEST_F(ShimsTest, OnlyRunningRanksGetSignals) {
  shims_.Exit({"job", 0}, 0);
  core::SignalLocal signal{"job", 10, {}};
  shims_.On(0, signal);
  EXPECT_EQ(shims_.signals({"job", 0}), 0u);
  EXPECT_EQ(shims_.signals({"job", 1}), 1u);
}

TEST_F(ShimsTest, ResetDropsADelayedKill) {
  settings_.options.kill_delay = 10 * kMs;
  core::KillLocal kill{"job", {}, 0};
  shims_.On(0, kill);
  EXPECT_TRUE(shims_.IsRunning({"job", 0}));
  shims_.Reset(0);
  EXPECT_EQ(CountOf<core::LocalExits>(Inputs()), 0u);
}

TEST_F(ShimsTest, OutputIsReportedAgainUntilItHasCredit) {
  settings_.options.lines = 2;
  shims_.Exit({"job", 1}, 0);
  EXPECT_EQ(ended_, (std::vector<ProcId>{{"job", 1}}));
  EXPECT_EQ(CountOf<core::LocalOutput>(Inputs()), 4u) << "2 lines, 2 ends";
  core::CreditOutput credit{"job", 0, 4};
  shims_.On(0, credit);
  core::ResendOutput resend{"job"};
  shims_.On(0, resend);
  const auto again = Inputs();
  EXPECT_EQ(CountOf<core::LocalOutput>(again), 3u);
  EXPECT_EQ(CountOf<core::LocalExits>(again), 1u);
}

TEST_F(ShimsTest, TheJournalHasTheLastValueOfEachKey) {
  for (const char* value : {"1", "2"}) {
    core::PersistRecord record{"job", "key", Bytes(std::string(value))};
    shims_.On(0, record);
  }
  core::JobRecovered recovered;
  shims_.AddRecovered(0, "job", &recovered);
  EXPECT_TRUE(recovered.started);
  ASSERT_EQ(recovered.records.size(), 1u);
  EXPECT_EQ(recovered.records[0].value.view(), "2");
}

TEST_F(ShimsTest, AForgottenJobLeavesNoShim) {
  std::vector<std::string> left;
  shims_.AddLeftovers(0, &left);
  EXPECT_EQ(left.size(), 2u) << "processes and a shim";
  core::ForgetLocal forget{"job"};
  shims_.On(0, forget);
  left.clear();
  shims_.AddLeftovers(0, &left);
  EXPECT_TRUE(left.empty());
}

}  // namespace
}  // namespace canopy::sim
