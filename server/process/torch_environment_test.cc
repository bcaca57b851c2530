#include "server/process/torch_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace canopy::process {
namespace {

core::PrepareLocal Prepare(const std::string& host) {
  JobSpec job;
  job.nspace = "job";
  job.rendezvous_host = host;
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 2}, {"b", {}, 1, 2}};
  job.procs = {{0, 0, ""}, {1, 0, ""}, {1, 0, ""}};
  core::PrepareLocal prepare;
  prepare.layout = std::make_shared<JobLayout>(job);
  prepare.job = std::make_shared<JobSpec>(std::move(job));
  return prepare;
}

bool Has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::ranges::count(entries, entry) == 1;
}

TEST(TorchEnvironmentTest, HasNoVariablesWithoutARendezvous) {
  const core::PrepareLocal prepare = Prepare("");
  EXPECT_TRUE(TorchJobVariables(*prepare.job).empty());
  EXPECT_TRUE(TorchRankVariables(prepare, 0).empty());
}

TEST(TorchEnvironmentTest, ContainsRanksOfJobAndNode) {
  const core::PrepareLocal prepare = Prepare("10.0.0.1");
  const auto job = TorchJobVariables(*prepare.job);
  EXPECT_TRUE(Has(job, "MASTER_ADDR=10.0.0.1"));
  EXPECT_TRUE(Has(job, "WORLD_SIZE=3"));
  EXPECT_TRUE(Has(job, "GROUP_WORLD_SIZE=2"));
  const auto last = TorchRankVariables(prepare, 2);
  EXPECT_TRUE(Has(last, "RANK=2"));
  EXPECT_TRUE(Has(last, "LOCAL_RANK=1"));
  EXPECT_TRUE(Has(last, "LOCAL_WORLD_SIZE=2"));
  EXPECT_TRUE(Has(last, "GROUP_RANK=1"));
  EXPECT_EQ(TorchPortVariable(4711), "MASTER_PORT=4711");
}

}  // namespace
}  // namespace canopy::process
