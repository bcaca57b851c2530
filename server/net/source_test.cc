#include "server/net/source.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace canopy::net {
namespace {

std::string NameOf(int family, const char* text) {
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  void* const to =
      family == AF_INET
          ? static_cast<void*>(
                &reinterpret_cast<sockaddr_in*>(&address)->sin_addr)
          : &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr;
  EXPECT_EQ(inet_pton(family, text, to), 1);
  return SourceOfAddress(address).name;
}

TEST(SourceTest, AUsersSourceHasItsUid) {
  EXPECT_EQ(SourceOfUser(1000).name, "uid 1000");
  EXPECT_EQ(SourceOfUser(1000).uid, 1000u);
}

TEST(SourceTest, TheSourceOfIpv4IsTheAddress) {
  EXPECT_EQ(NameOf(AF_INET, "10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(NameOf(AF_INET6, "::ffff:10.0.0.7"), "10.0.0.7");
}

TEST(SourceTest, TheSourceOfIpv6IsTheNetwork) {
  EXPECT_EQ(NameOf(AF_INET6, "2001:db8::1"), "2001:db8::/64");
  EXPECT_EQ(NameOf(AF_INET6, "2001:db8::ffff:1"), "2001:db8::/64");
  EXPECT_EQ(NameOf(AF_INET6, "2001:db8:0:1::1"), "2001:db8:0:1::/64");
}

}  // namespace
}  // namespace canopy::net
