#include "server/process/reserved_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace canopy::process {
namespace {

bool CanBind(uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
              sizeof address) == 0;
}

TEST(ReservedPortTest, NoOtherSocketCanBindThePortBeforeItsRelease) {
  ReservedPort port;
  EXPECT_EQ(port.number(), 0);
  ASSERT_TRUE(port.Reserve().ok());
  const uint16_t number = port.number();
  ASSERT_NE(number, 0);
  EXPECT_FALSE(CanBind(number));
  port.Release();
  EXPECT_TRUE(CanBind(number));
  EXPECT_EQ(port.number(), number);
}

}  // namespace
}  // namespace canopy::process
