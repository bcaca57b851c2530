#include "server/agent/bring_up/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "common/posix/unique_fd.h"

namespace canopy::agent {
namespace {

TEST(ServiceManagerTest, TheManagerIsToldThatTheServiceIsReady) {
  const std::string name = "canopy-notify-" + std::to_string(getpid());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The name of a socket without a file begins with a zero.
  name.copy(address.sun_path + 1, name.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                        name.size())),
            0);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  ReportReady();
  char text[64];
  const ssize_t n = recv(fd.get(), text, sizeof text, MSG_DONTWAIT);
  ASSERT_GT(n, 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(n)), "READY=1");
}

TEST(ServiceManagerTest, WithoutAManagerNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  ReportReady();
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  ReportReady();
}

}  // namespace
}  // namespace canopy::agent
