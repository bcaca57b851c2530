#include "common/cluster/dns_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace canopy {
namespace {

using Addresses = std::vector<std::string>;

TEST(DnsNodesTest, AnAddressIsItsOwnName) {
  EXPECT_EQ(*AddressesOf("192.0.2.7"), Addresses({"192.0.2.7"}));
  EXPECT_EQ(*AddressesOf("2001:db8:0::0:5"), Addresses({"2001:db8::5"}));
}

TEST(DnsNodesTest, LinkLocalAddressesAreLeftOut) {
  EXPECT_TRUE(AddressesOf("fe80::1")->empty());
}

TEST(DnsNodesTest, AddressesOfThisMachineAreRecognized) {
  EXPECT_TRUE(IsAddressOfThisMachine("127.0.0.1"));
  EXPECT_TRUE(IsAddressOfThisMachine("127.0.0.9"));
  EXPECT_FALSE(IsAddressOfThisMachine("192.0.2.7"));
  EXPECT_FALSE(IsAddressOfThisMachine("localhost")) << "not a number";
}

}  // namespace
}  // namespace canopy
