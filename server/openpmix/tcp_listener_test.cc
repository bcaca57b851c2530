#include "server/openpmix/tcp_listener.h"

#include <gtest/gtest.h>

namespace canopy::openpmix {
namespace {

TEST(TcpListenerTest, TellsWhereItListens) {
  const Result<UniqueFd> fd = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(fd.ok());
  const uint16_t port = PortOf(fd->get());
  EXPECT_NE(port, 0);
  EXPECT_EQ(AddressOf("127.0.0.1", fd->get()),
            "127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(AddressOf("::1", fd->get()), "[::1]:" + std::to_string(port));
  EXPECT_EQ(ListenTcp("127.0.0.1", port).code(), kErrUnreach);
}

TEST(TcpListenerTest, RefusesWhatIsNoAddressOfThisMachine) {
  EXPECT_EQ(ListenTcp("localhost", 0).code(), kErrBadParam);
  EXPECT_EQ(ListenTcp("", 0).code(), kErrBadParam);
  EXPECT_EQ(ListenTcp("192.0.2.1", 0).code(), kErrUnreach);
}

}  // namespace
}  // namespace canopy::openpmix
