#include "server/agent/bring_up/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "protos/bootstrap.pb.h"

namespace canopy::agent {
namespace {

TEST(SettingsTest, TheGraceTimeIsTwoFifthsOfTheLossTimeout) {
  bootstrap::v1::Config config;
  EXPECT_EQ(LossMs(config), 5000u);
  EXPECT_EQ(GraceMs(config), 2000u);
  config.set_loss_timeout_ms(1000);
  EXPECT_EQ(LossMs(config), 1000u);
  EXPECT_EQ(GraceMs(config), 400u);
  config.set_restart_grace_ms(700);
  EXPECT_EQ(GraceMs(config), 700u);
}

TEST(SettingsTest, AnAddressWithoutAPortUsesAnyPort) {
  bootstrap::v1::Config config;
  config.set_listen("10.0.0.1");
  EXPECT_EQ(ListenAddress(config), "10.0.0.1:0");
  config.set_listen("10.0.0.1:17");
  EXPECT_EQ(ListenAddress(config), "10.0.0.1:17");
  config.set_listen("[fe80::1]");
  EXPECT_EQ(ListenAddress(config), "[fe80::1]:0");
  config.set_listen("[fe80::1]:17");
  EXPECT_EQ(ListenAddress(config), "[fe80::1]:17");
}

TEST(SettingsTest, AnUnknownSecurityModeIsRefused) {
  bootstrap::v1::Config config;
  config.set_cluster_key(std::string(32, 'k'));
  config.set_security("tsl");
  EXPECT_EQ(MakeSecurity(config).status().code(), kErrBadParam);
  config.set_security("tls");
  EXPECT_TRUE(MakeSecurity(config).ok());
  config.set_cluster_key("short");
  EXPECT_FALSE(MakeSecurity(config).ok());
}

TEST(SettingsTest, AVariableReplacesTheDefaultPathOfAFile) {
  setenv("CANOPY_SETTINGS_TEST", "/there/shim", 1);
  EXPECT_EQ(Beside("CANOPY_SETTINGS_TEST", "shim"), "/there/shim");
  unsetenv("CANOPY_SETTINGS_TEST");
  EXPECT_TRUE(Beside("CANOPY_SETTINGS_TEST", "shim").ends_with("/shim"));
}

}  // namespace
}  // namespace canopy::agent
