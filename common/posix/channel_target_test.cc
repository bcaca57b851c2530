#include "common/posix/channel_target.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(ChannelTargetTest, ANameIsReplacedByItsAddresses) {
  const std::string target = ChannelTarget("localhost:7118");
  EXPECT_TRUE(target == "ipv4:127.0.0.1:7118" || target == "ipv6:[::1]:7118")
      << target;
}

TEST(ChannelTargetTest, AnAddressIsATargetOfItsFamily) {
  EXPECT_EQ(ChannelTarget("10.1.2.3:80"), "ipv4:10.1.2.3:80");
  EXPECT_EQ(ChannelTarget("[2001:db8::7]:80"), "ipv6:[2001:db8::7]:80");
}

TEST(ChannelTargetTest, WhatIsNoKnownNameOfAHostIsKept) {
  EXPECT_EQ(ChannelTarget("unix:/run/control.sock"), "unix:/run/control.sock");
  EXPECT_EQ(ChannelTarget("host.invalid:80"), "host.invalid:80");
  EXPECT_EQ(ChannelTarget("nothing"), "nothing");
}

}  // namespace
}  // namespace canopy
