#include "server/control/spawn_executor.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/control/control_testing.h"
#include "server/core/spawn/tool_spawns.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

// The tests use a family of the job "first", whose launcher can reattach.
class SpawnExecutorTest : public testing::Test {
 protected:
  SpawnExecutorTest() {
    requests_.set_sink(&sink_);
    staging_.set_sink(&sink_);
    pipeline_.set_sink(&sink_);
    placements_.set_port(&placement_);
    families_.set_persistence(&records_, 1000);
    family_ = families_.AddFamily("first");
    family_->token = "token";
    families_.AddJob(family_, Job("first"), {});
  }

  void Attach() {
    families_.launchers()[kLauncher] = Launcher(&stream_, OwnUser());
    families_.Attach(kLauncher, family_);
  }
  void SpawnByTool(const std::string& call = CallBytes()) {
    executor_.OnSpawn({{"tool", 0}, core::kSpawnsOfTools + 5, Bytes(call)});
  }
  void Spawn() { executor_.OnSpawn({{"first", 1}, 5, Bytes(CallBytes())}); }
  PlannedJob Plan(const ProcId& spawner) {
    if (refusal_.code() != kSuccess) return refusal_;
    auto job = Job("child");
    job->parent = spawner;
    return PlannedJob(job);
  }

  JobPlanner PlannerOf() {
    JobPlanner planner;
    planner.warn = [this](const std::string& text) {
      warnings_.push_back(text);
    };
    planner.spawn = [this](const spawn::SpawnCall&, const ProcId& spawner,
                           const Placed&) { return Plan(spawner); };
    planner.hosts.missing = [this](const spawn::SpawnCall&,
                                   const ProcId&) -> Result<std::vector<Host>> {
      return missing_;
    };
    planner.name_hosts = [this](const std::string& spawner, bool,
                                std::vector<Host>*) {
      named_.push_back(spawner);
      return not_named_;
    };
    return planner;
  }

  std::vector<std::string> warnings_;
  std::vector<std::string> named_;  // the spawner of each list of hosts
  Status not_named_;
  std::vector<Host> missing_;  // hosts of a call that are no members
  EventLoop loop_;
  RecordingSink sink_;
  Stream stream_;
  Records records_;
  Families families_;
  Family* family_ = nullptr;
  Status refusal_;
  Status failure_;
  SpawnRequests requests_{&loop_};
  Staging staging_{[](const std::string&, const Status&) {},
                   [](const std::string&, uint64_t) {}};
  FakePlacement placement_;
  Placements placements_{&loop_, [](QueuedJob*) {}};
  const JobPlanner planner_ = PlannerOf();
  LaunchPipeline pipeline_{
      &families_, &placements_, &staging_, &planner_,
      [this](const std::string&, const Status& status) { failure_ = status; }};
  HostAdditions additions_{&loop_, &families_, &planner_};
  SpawnExecutor executor_{&families_, &placements_, &requests_,
                          &pipeline_, &planner_,    &additions_};
};

TEST_F(SpawnExecutorTest, RelativeHostsAreThoseOfTheSpawnersJob) {
  Attach();
  Spawn();
  EXPECT_EQ(named_, std::vector<std::string>({"first", "first"}))
      << "for the request and for its application";
}

TEST_F(SpawnExecutorTest, AnUnknownRelativeHostIsRefused) {
  Attach();
  not_named_ = Status(kErrNotFound, "there is no node +n9");
  Spawn();
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrNotFound);
  EXPECT_EQ(families_.jobs().size(), 1u);
}

TEST_F(SpawnExecutorTest, MapsRecordsAndLaunchesAJobInTheSpawnersFamily) {
  Attach();
  Spawn();
  EXPECT_EQ(stream_.Of(v1::RunEvent::kMapped).size(), 1u);
  EXPECT_EQ(records_.jobs.at("child").facts.spawn_request, 5u);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "child");
  EXPECT_EQ(families_.FamilyOf("child"), family_);
  EXPECT_FALSE(families_.FindJob("child")->connected);
  executor_.OnStarted("child");
  EXPECT_TRUE(families_.FindJob("child")->connected);
}

TEST_F(SpawnExecutorTest, ARequestWaitsForTheLauncher) {
  Spawn();
  EXPECT_TRUE(sink_.inputs.empty());
  Attach();
  executor_.Release(family_);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
  executor_.Release(family_);
  EXPECT_TRUE(sink_.inputs.empty()) << "once";
}

TEST_F(SpawnExecutorTest, ARefusalIsAnsweredAndReported) {
  Attach();
  refusal_ = Status(kErrJobInsufficientResources, "no slots");
  Spawn();
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status,
            kErrJobInsufficientResources);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kNotice).at(0).notice(),
            "job first: rank 1 cannot spawn: no slots");
  EXPECT_EQ(families_.jobs().size(), 1u);
}

TEST_F(SpawnExecutorTest, AJobThatCannotBeRecordedIsNotLaunched) {
  Attach();
  families_.set_persistence(nullptr, 0);
  Spawn();
  EXPECT_EQ(failure_.code(), kErrJobSysOpFailed);
  EXPECT_TRUE(sink_.Take<core::LaunchRequested>().empty());
}

TEST_F(SpawnExecutorTest, AJobOfAToolBeginsAFamily) {
  SpawnByTool();
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "child");
  const Family* const family = families_.FamilyOf("child");
  ASSERT_NE(family, nullptr);
  EXPECT_NE(family, family_);
  EXPECT_EQ(family->first(), "child");
  EXPECT_EQ(families_.LauncherOf("child"), nullptr);
  EXPECT_FALSE(records_.jobs.contains("child")) << "it ends with its agent";
}

TEST_F(SpawnExecutorTest, AToolReceivesTheReasonOfARefusal) {
  refusal_ = Status(kErrJobInsufficientResources, "no slots");
  SpawnByTool();
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status,
            kErrJobInsufficientResources);
}

TEST_F(SpawnExecutorTest, AttributesForLaunchersAreRefusedForATool) {
  SpawnByTool(CallBytes(0, false, PMIX_OUTPUT_TO_FILE));
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrNotSupported);
  SpawnByTool(CallBytes(0, false, PMIX_IOF_OUTPUT_TO_FILE));
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrNotSupported);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(SpawnExecutorTest, AttributesWithoutEffectForAToolAreLoggedOnce) {
  Encoder out;
  out.PutSize(2);
  for (const char* key : {PMIX_DISPLAY_MAP, "site.directive"}) {
    out.PutString(key);
    out.PutUint32(0);
    out.PutValue(Value::Bool(true).raw());
  }
  const std::string call = out.Take() + CallBytes().substr(1);
  SpawnByTool(call);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
  EXPECT_EQ(warnings_,
            (std::vector<std::string>{
                "tool:0: the directive site.directive of PMIx_Spawn is ignored",
                "tool:0: the directive " PMIX_DISPLAY_MAP
                " of PMIx_Spawn is ignored"}));
}

TEST_F(SpawnExecutorTest, AJobWaitsUntilItsHostsHaveBeenAdded) {
  Attach();
  families_.launchers()[kLauncher].adds_hosts = true;
  missing_ = {{"x", 0, false, {}}};
  executor_.OnSpawn(
      {{"first", 1}, 5, Bytes(CallBytes(0, false, PMIX_ADD_HOST))});
  EXPECT_TRUE(sink_.inputs.empty());
  v1::HostsAdded added;
  added.set_order(
      stream_.Of(v1::RunEvent::kAddHosts).at(0).add_hosts().order());
  additions_.OnAdded(kLauncher, added);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "child");
}

TEST_F(SpawnExecutorTest, AToolAddsNoHosts) {
  SpawnByTool(CallBytes(0, false, PMIX_ADD_HOST));
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u)
      << "all hosts are members";
  missing_ = {{"x", 0, false, {}}};
  SpawnByTool(CallBytes(0, false, PMIX_ADD_HOST));
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrNotSupported);
}

TEST_F(SpawnExecutorTest, AJobWhoseSpawnerHasEndedMeanwhileIsNotStarted) {
  Attach();
  families_.launchers()[kLauncher].adds_hosts = true;
  missing_ = {{"x", 0, false, {}}};
  executor_.OnSpawn(
      {{"first", 1}, 5, Bytes(CallBytes(0, false, PMIX_ADD_HOST))});
  families_.RemoveJob("first");
  v1::HostsAdded added;
  added.set_order(
      stream_.Of(v1::RunEvent::kAddHosts).at(0).add_hosts().order());
  additions_.OnAdded(kLauncher, added);
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrJobCanceled);
}

TEST_F(SpawnExecutorTest, AnAbandonedFamilyCannotSpawn) {
  families_.Abandon(family_);
  Spawn();
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrJobCanceled);
}

}  // namespace
}  // namespace canopy::control
