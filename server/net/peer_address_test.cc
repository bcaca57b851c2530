#include "server/net/peer_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace canopy::net {
namespace {

sockaddr_storage Ipv4(const char* text, uint16_t port) {
  sockaddr_storage out = {};
  auto* in = reinterpret_cast<sockaddr_in*>(&out);
  in->sin_family = AF_INET;
  in->sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, text, &in->sin_addr), 1);
  return out;
}

sockaddr_storage Ipv6(const char* text, uint16_t port) {
  sockaddr_storage out = {};
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&out);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
  return out;
}

TEST(PeerAddressTest, AddressesHaveUniqueTexts) {
  EXPECT_EQ(PeerText(Ipv4("10.0.0.7", 4242)), "10.0.0.7:4242");
  EXPECT_EQ(PeerText(Ipv6("2001:db8::7", 80)), "[2001:db8::7]:80");
  EXPECT_EQ(PeerText(Ipv6("::ffff:10.0.0.7", 4242)), "10.0.0.7:4242");
  sockaddr_storage local = {};
  local.ss_family = AF_UNIX;
  EXPECT_EQ(PeerText(local), "");
}

TEST(PeerAddressTest, AUriHasTheTextOfItsPeer) {
  EXPECT_EQ(PeerTextOfUri("ipv4:10.0.0.7:4242"), "10.0.0.7:4242");
  EXPECT_EQ(PeerTextOfUri("ipv6:%5B2001:db8::7%5D:80"), "[2001:db8::7]:80");
  EXPECT_EQ(PeerTextOfUri("ipv6:[2001:db8::7]:80"), "[2001:db8::7]:80");
  EXPECT_EQ(PeerTextOfUri("ipv6:%5Bfe80::1%252%5D:80"), "[fe80::1]:80");
  EXPECT_EQ(PeerTextOfUri("ipv6:%5Bfe80::1%25eth0%5D:80"), "[fe80::1]:80");
}

TEST(PeerAddressTest, UrisThatAreNotOfIpAddressesAreRejected) {
  EXPECT_EQ(PeerTextOfUri("unix:/tmp/x"), std::nullopt);
  EXPECT_EQ(PeerTextOfUri(""), std::nullopt);
}

TEST(PeerAddressTest, AMalformedUriHasTheTextOfNoPeer) {
  EXPECT_EQ(PeerTextOfUri("ipv6:%5"), "%5");
  EXPECT_EQ(PeerTextOfUri("ipv6:%zz]"), "]");
}

}  // namespace
}  // namespace canopy::net
