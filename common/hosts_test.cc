#include "common/hosts.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(HostListTest, ParsesNamesAndSlots) {
  const auto hosts = ParseHostList("a, b:4,c:*,[fe80::1]:2,10.0.0.1:3,::1,+n0");
  ASSERT_TRUE(hosts.ok()) << hosts.status().message();
  ASSERT_EQ(hosts->size(), 7u);
  EXPECT_EQ((*hosts)[0].name, "a");
  EXPECT_FALSE((*hosts)[0].slots_given);
  EXPECT_EQ((*hosts)[1].name, "b");
  EXPECT_EQ((*hosts)[1].slots, 4u);
  EXPECT_FALSE((*hosts)[2].slots_given);
  EXPECT_EQ((*hosts)[3].name, "fe80::1");
  EXPECT_EQ((*hosts)[3].slots, 2u);
  EXPECT_EQ((*hosts)[4].slots, 3u);
  EXPECT_EQ((*hosts)[5].name, "::1");
  EXPECT_TRUE((*hosts)[6].relative());
}

TEST(HostListTest, RangesStandForTheirHosts) {
  const auto hosts = ParseHostList("a,root@n[08-10,12]:4,[fe80::1]:2");
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 6u);
  EXPECT_EQ((*hosts)[1].name, "root@n08");
  EXPECT_EQ((*hosts)[4].name, "root@n12");
  EXPECT_EQ((*hosts)[4].slots, 4u);
  EXPECT_EQ((*hosts)[5].name, "fe80::1");
}

TEST(HostListTest, RejectsMalformedRanges) {
  for (const char* text :
       {"n[2-1]", "n[1-2", "n[x]", "n[1-65537]", "a,n[0-65535]"}) {
    EXPECT_EQ(ParseHostList(text).code(), kErrBadParam) << text;
  }
  EXPECT_EQ(ParseHostList("n[2-1]").status().message(),
            "'n[2-1]' is not a list of hosts, as in n[001-128,200]");
}

TEST(HostfileTest, ALineAppliesToEachHostOfItsRange) {
  const auto hosts =
      ParseHostfile("n[1-3] slots=2 user=me\nlogin aliases=l\n", "f");
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 4u);
  EXPECT_EQ((*hosts)[2].name, "me@n3");
  EXPECT_EQ((*hosts)[2].slots, 2u);
  EXPECT_EQ((*hosts)[3].aliases, std::vector<std::string>{"l"});
  EXPECT_EQ(ParseHostfile("n[1-3] aliases=l", "f").status().message(),
            "f:1: aliases belong to a single host");
}

TEST(HostListTest, RejectsMalformedLists) {
  for (const char* bad : {"", "a,", ":4", "a:x", "a:0", "a:-1", "[a", "[a]x",
                          "-oProxyCommand", "a b", "[]", "[-a]"}) {
    EXPECT_FALSE(ParseHostList(bad).ok()) << bad;
  }
}

TEST(HostfileTest, SlotsCommentsAndAliasesAreRead) {
  const auto hosts = ParseHostfile(
      "# nodes of the lab\n"
      "n1 slots=4   # big\n"
      "\n"
      "n2 slots = 2 max_slots=3\n"
      "n3\tmax-slots=5\r\n"
      "n4:6\n"
      "joe@n5 SLOTS=1\n"
      "n6 user=ann aliases=x,y\n"
      "n7\n"
      "n7\n"
      "+n1 slots=2\n",
      "file");
  ASSERT_TRUE(hosts.ok()) << hosts.status().message();
  ASSERT_EQ(hosts->size(), 9u);
  const std::vector<Host>& h = *hosts;
  EXPECT_EQ(h[0].name, "n1");
  EXPECT_EQ(h[0].slots, 4u);
  EXPECT_EQ(h[1].slots, 2u);
  EXPECT_EQ(h[2].slots, 5u);
  EXPECT_EQ(h[3].name, "n4");
  EXPECT_EQ(h[3].slots, 6u);
  EXPECT_EQ(h[4].name, "joe@n5");
  EXPECT_EQ(h[5].name, "ann@n6");
  EXPECT_EQ(h[5].aliases, (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(h[6].slots_given);
  EXPECT_EQ(h[7].name, "n7");
  EXPECT_TRUE(h[8].relative());
}

TEST(HostfileTest, ErrorsNameFileAndLine) {
  const auto bad = ParseHostfile("a\nb slots=x\n", "the/file");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message().find("the/file:2: "), 0u)
      << bad.status().message();
  EXPECT_FALSE(ParseHostfile("a solts=2\n", "f").ok());
  EXPECT_FALSE(ParseHostfile("a \"b\n", "f").ok());
  EXPECT_FALSE(ParseHostfile("# nothing\n", "f").ok());
}

TEST(HostOfAddressTest, ReturnsTheHostOfAnAddress) {
  EXPECT_EQ(HostOfAddress("node1:7000"), "node1");
  EXPECT_EQ(HostOfAddress("[fe80::1]:7000"), "fe80::1");
  EXPECT_EQ(HostOfAddress("node1"), "node1");
  EXPECT_EQ(HostOfAddress("[:1"), "[");
  EXPECT_EQ(HostOfAddress(""), "");
}

TEST(HostfileTest, MisplacedEqualsSignsAreRejected) {
  for (const char* odd : {"= = =", "a =", "a = = 2", "=", "a b=c=d"}) {
    EXPECT_FALSE(ParseHostfile(odd, "f").ok()) << odd;
  }
}

}  // namespace
}  // namespace canopy
