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

// The test is the service manager of its own process.
class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() {
    const std::string name = "canopy-notify-" + std::to_string(getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    // The name of a socket without a file begins with a zero.
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             1 + name.size());
    bound_ = bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size);
    setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~ServiceManagerTest() override {
    for (const char* name :
         {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
      unsetenv(name);
    }
  }

  void SetUp() override { ASSERT_EQ(bound_, 0); }

  // Returns the next message to the manager, or an empty text.
  std::string Next() {
    char text[64];
    const ssize_t n = recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    return n < 0 ? "" : std::string(text, static_cast<size_t>(n));
  }

  UniqueFd fd_{socket(AF_UNIX, SOCK_DGRAM, 0)};
  int bound_ = -1;
  EventLoop loop_;
};

TEST_F(ServiceManagerTest, TheManagerReceivesTheStates) {
  ReportState(ServiceState::kReady);
  EXPECT_EQ(Next(), "READY=1");
  ReportState(ServiceState::kReloading);
  EXPECT_EQ(Next(), "RELOADING=1");
  ReportState(ServiceState::kStopping);
  EXPECT_EQ(Next(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, WithoutAManagerNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  ReportState(ServiceState::kReady);
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  ReportState(ServiceState::kReady);
  EXPECT_EQ(Next(), "");
}

TEST_F(ServiceManagerTest, TheLoopReportsForTheWatchdog) {
  setenv("WATCHDOG_USEC", "200000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  {
    const ServiceWatchdog watchdog(&loop_);
    EXPECT_EQ(Next(), "WATCHDOG=1");
    EXPECT_EQ(Next(), "") << "the loop has to run";
    loop_.RunOnce(-1);
    EXPECT_EQ(Next(), "WATCHDOG=1");
  }
  loop_.RunOnce(0);
  EXPECT_EQ(Next(), "");
}

TEST_F(ServiceManagerTest, AnUnwatchedProcessReportsNothing) {
  const ServiceWatchdog without(&loop_);
  setenv("WATCHDOG_USEC", "200000", 1);
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  const ServiceWatchdog of_another(&loop_);
  EXPECT_EQ(Next(), "");
}

}  // namespace
}  // namespace canopy::agent
