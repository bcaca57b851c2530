#include "server/net/tcp_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace canopy::net {
namespace {

bool CanConnect(int family, uint16_t port) {
  const UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (family == AF_INET) {
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd.get(), reinterpret_cast<sockaddr*>(&in), sizeof in) == 0;
  }
  sockaddr_in6 in6 = {};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(port);
  in6.sin6_addr = in6addr_loopback;
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&in6), sizeof in6) == 0;
}

TEST(TcpListenerTest, AddressOfReturnsTheListenersAddress) {
  const Result<UniqueFd> fd = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(fd.ok());
  const uint16_t port = PortOf(fd->get());
  EXPECT_NE(port, 0);
  EXPECT_EQ(AddressOf("127.0.0.1", fd->get()),
            "127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(AddressOf("::1", fd->get()), "[::1]:" + std::to_string(port));
  EXPECT_EQ(ListenTcp("127.0.0.1", port).code(), kErrUnreach);
}

TEST(TcpListenerTest, RejectsAddressesThatAreNotOfThisMachine) {
  EXPECT_EQ(ListenTcp("localhost", 0).code(), kErrBadParam);
  EXPECT_EQ(ListenTcp("", 0).code(), kErrBadParam);
  EXPECT_EQ(ListenTcp("192.0.2.1", 0).code(), kErrUnreach);
}

TEST(TcpListenerTest, ListensAtAHostAndAPort) {
  const auto at = ListenAt("127.0.0.1:0");
  ASSERT_TRUE(at.ok()) << at.status().message();
  ASSERT_EQ(at->size(), 1u);
  const uint16_t port = PortOf(at->front().get());
  EXPECT_TRUE(CanConnect(AF_INET, port));
  EXPECT_FALSE(CanConnect(AF_INET6, port));
  EXPECT_EQ(ListenAt("127.0.0.1:" + std::to_string(port)).code(), kErrUnreach);
}

TEST(TcpListenerTest, ListensAtAllAddressesOfAName) {
  const auto at = ListenAt("localhost:0");
  ASSERT_TRUE(at.ok()) << at.status().message();
  for (const UniqueFd& fd : *at) {
    EXPECT_EQ(PortOf(fd.get()), PortOf(at->front().get()));
  }
  EXPECT_TRUE(CanConnect(AF_INET, PortOf(at->front().get())));
}

TEST(TcpListenerTest, AWildcardListensOnBothFamilies) {
  for (const char* host : {"0.0.0.0", "[::]", ""}) {
    const auto at = ListenAt(std::string(host) + ":0");
    ASSERT_TRUE(at.ok()) << at.status().message();
    const uint16_t port = PortOf(at->front().get());
    EXPECT_TRUE(CanConnect(AF_INET, port)) << host;
    EXPECT_EQ(CanConnect(AF_INET6, port), ListenTcp("::1", 0).ok()) << host;
    EXPECT_EQ(ListenAt("0.0.0.0:" + std::to_string(port)).code(), kErrUnreach);
  }
}

TEST(TcpListenerTest, RejectsTextsWithoutAHostAndAPort) {
  for (const char* text : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:http",
                           "127.0.0.1:70000", "no-such-name.invalid:0"}) {
    EXPECT_EQ(ListenAt(text).code(), kErrBadParam) << text;
  }
  EXPECT_EQ(ListenAt("192.0.2.1:0").code(), kErrUnreach);
}

}  // namespace
}  // namespace canopy::net
