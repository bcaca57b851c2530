#include "server/control/tool_record.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>

#include "server/control/control_testing.h"
#include "server/core/spawn/tool_spawns.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

const ProcId kTool{"tool", 0};

TEST(ToolRecordTest, ContainsTheEnvironmentWithoutVariablesOfAJob) {
  setenv("PMIX_NAMESPACE", "of.another", 1);
  setenv("SOMETHING", "else", 1);
  const JobRecord record = ToolRecord({kTool});
  EXPECT_EQ(record.job->nspace, "tool");
  EXPECT_EQ(record.family, 0u);
  EXPECT_EQ(std::ranges::count(record.job->env, "SOMETHING=else"), 1);
  EXPECT_EQ(std::ranges::count(record.job->env, "PMIX_NAMESPACE=of.another"),
            0);
}

TEST(ToolRecordTest, OfAnotherUserHasThatOwnerAndNothingOfThisProcess) {
  setenv("SECRET_OF_THE_AGENT", "x", 1);
  const JobRecord record = ToolRecord({kTool, core::Owner{7, 8}});
  EXPECT_EQ(record.job->uid, 7u);
  EXPECT_EQ(record.job->gid, 8u);
  ASSERT_EQ(record.job->env.size(), 1u);
  EXPECT_TRUE(record.job->env[0].starts_with("PATH="));
}

TEST(ToolRecordTest, TheEndOfAToolEndsItsJobs) {
  Families families;
  RecordingSink sink;
  const auto add = [&](Family* family, const std::string& name,
                       const ProcId& parent, uint64_t request) {
    auto job = Job(name);
    job->parent = parent;
    LaunchFacts facts;
    facts.spawn_request = request;
    families.AddJob(family, job, facts);
  };
  Family* const spawned = families.AddFamily("child");
  add(spawned, "child", kTool, core::kSpawnsOfTools + 1);
  add(spawned, "grandchild", {"child", 0}, 1);
  Family* const other = families.AddFamily("other");
  add(other, "other", {"another.tool", 0}, core::kSpawnsOfTools + 1);
  EndJobsOfTool(kTool, &families, &sink);
  const auto kills = sink.Take<core::KillRequested>();
  ASSERT_EQ(kills.size(), 2u);
  EXPECT_EQ(kills[0].nspace, "child");
  EXPECT_EQ(kills[1].nspace, "grandchild");
  EXPECT_TRUE(spawned->abandoned);
  EXPECT_FALSE(other->abandoned);
}

}  // namespace
}  // namespace canopy::control
