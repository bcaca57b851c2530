#include "server/local/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace canopy::local {
namespace {

bool Has(const std::vector<std::string>& env, const std::string& entry) {
  return std::find(env.begin(), env.end(), entry) != env.end();
}

core::PrepareLocal Prepare(bool oversubscribed) {
  JobSpec job;
  job.nspace = "job-1";
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{0, 0, ""}, {1, 0, ""}, {1, 0, ""}};
  job.universe_size = 8;
  job.oversubscribed = oversubscribed;
  core::PrepareLocal prepare;
  prepare.layout = std::make_shared<JobLayout>(job);
  prepare.job = std::make_shared<JobSpec>(std::move(job));
  return prepare;
}

TEST(EnvironmentTest, AJobHasTheVariablesOfPmixAndOpenMpi) {
  EnvironmentOptions options;
  options.self = 1;
  options.socket_path = "/run/x/sock";
  options.runtime_dir = "/run/x";
  const auto env = JobEnvironment(Prepare(false), options);
  EXPECT_TRUE(Has(env, "CANOPY_SOCKET=/run/x/sock"));
  EXPECT_TRUE(Has(env, "PMIX_NAMESPACE=job-1"));
  EXPECT_TRUE(Has(env, "PMIX_HOSTNAME=b"));
  EXPECT_TRUE(Has(env, "PMIX_SERVER_TMPDIR=/run/x"));
  EXPECT_TRUE(Has(env, "OMPI_MCA_orte_local_daemon_uri=1.0;tcp://127.0.0.1:1"));
  EXPECT_TRUE(Has(env, "OMPI_COMM_WORLD_SIZE=3"));
  EXPECT_TRUE(Has(env, "OMPI_COMM_WORLD_LOCAL_SIZE=2"));
  EXPECT_TRUE(Has(env, "OMPI_UNIVERSE_SIZE=8"));
  EXPECT_FALSE(Has(env, "OMPI_MCA_mpi_yield_when_idle=1"));
  EXPECT_TRUE(Has(JobEnvironment(Prepare(true), options),
                  "OMPI_MCA_mpi_yield_when_idle=1"));
  EXPECT_FALSE(Has(env, "CANOPY_REATTACH_MS=0"));
  options.reattach_ms = 60000;
  EXPECT_TRUE(
      Has(JobEnvironment(Prepare(false), options), "CANOPY_REATTACH_MS=60000"));
}

TEST(EnvironmentTest, ARankHasItsOwnVariables) {
  const auto env = RankEnvironment(Prepare(false), 2, "abc");
  EXPECT_TRUE(Has(env, "PMIX_RANK=2"));
  EXPECT_TRUE(Has(env, "CANOPY_TOKEN=abc"));
  EXPECT_TRUE(Has(env, "OMPI_COMM_WORLD_RANK=2"));
  EXPECT_TRUE(Has(env, "OMPI_COMM_WORLD_LOCAL_RANK=1"));
  EXPECT_TRUE(Has(env, "OMPI_COMM_WORLD_NODE_RANK=1"));
}

TEST(EnvironmentTest, EachUnsetNameIsListedOnce) {
  std::vector<std::string> names = UnsetNames();
  EXPECT_TRUE(Has(names, "PMIX_SERVER_URI*"));
  EXPECT_TRUE(Has(names, "PMI_FD"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace canopy::local
