#include "client/cli/options/agent_config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace canopy::cli {
namespace {

Config Configured(const std::map<std::string, std::string>& variables) {
  Result<Config> config = Config::Load({}, [&variables](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
  return *std::move(config);
}

TEST(AgentConfigTest, OptionsOverrideTheConfiguration) {
  const Config config =
      Configured({{"CANOPY_RADIX", "4"}, {"CANOPY_LOSS_TIMEOUT", "2"}});
  AgentOptions options;
  options.radix = 8;
  UseConfig(config, &options);
  EXPECT_EQ(options.radix, 8u);
  EXPECT_EQ(options.loss_timeout_ms, 2000u);
  AgentOptions others;
  UseConfig(config, &others);
  EXPECT_EQ(others.radix, 4u);
}

TEST(AgentConfigTest, LimitsOfUsersAreConfiguredUnlessGiven) {
  const Config config = Configured(
      {{"CANOPY_MAX_JOBS_PER_USER", "7"}, {"CANOPY_MAX_PROCS_PER_USER", "9"}});
  UpOptions options;
  options.max_procs_per_user = 5;
  ASSERT_TRUE(UseConfig(config, /*allocated=*/false, &options).ok());
  EXPECT_EQ(options.max_jobs_per_user, 7u);
  EXPECT_EQ(options.max_procs_per_user, 5u);
}

TEST(AgentConfigTest, ConfiguredHostsApplyIfNoOptionNamesNodes) {
  const Config config = Configured({{"CANOPY_HOSTS", "n[1-2]"}});
  UpOptions options;
  ASSERT_TRUE(UseConfig(config, /*allocated=*/false, &options).ok());
  EXPECT_EQ(options.hosts.size(), 2u);
  EXPECT_EQ(options.timeout_seconds, 60u);
  UpOptions emulated;
  emulated.emulate = 3;
  emulated.timeout_seconds = 5;
  ASSERT_TRUE(UseConfig(config, /*allocated=*/false, &emulated).ok());
  EXPECT_TRUE(emulated.hosts.empty());
  EXPECT_EQ(emulated.timeout_seconds, 5u);
  UpOptions allocated;
  ASSERT_TRUE(UseConfig(config, /*allocated=*/true, &allocated).ok());
  EXPECT_TRUE(allocated.hosts.empty());
}

}  // namespace
}  // namespace canopy::cli
