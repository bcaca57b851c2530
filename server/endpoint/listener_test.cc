#include "server/endpoint/listener.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"

namespace canopy::endpoint {
namespace {

TEST(ListenerTest, AcceptsConnectionsUntilPauseIsCalled) {
  std::string directory = "/tmp/canopy-listener-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/s";
  EventLoop loop;
  std::vector<UniqueFd> accepted;
  {
    Listener listener(
        &loop, std::move(ListenUnix(path, 16).value()),
        [&](UniqueFd fd) { accepted.push_back(std::move(fd)); }, [] {});
    const auto first = ConnectUnix(path);
    loop.RunOnce(0);
    EXPECT_EQ(accepted.size(), 1u);
    listener.Pause();
    const auto second = ConnectUnix(path);
    loop.RunOnce(0);
    EXPECT_EQ(accepted.size(), 1u);
    EXPECT_GE(listener.fd(), 0);
  }
  loop.RunOnce(0);
  EXPECT_EQ(accepted.size(), 1u);
  unlink(path.c_str());
  rmdir(directory.c_str());
}

TEST(ListenerTest, AnotherAcceptorReceivesTheConnectionsIfItAgrees) {
  std::string directory = "/tmp/canopy-listener-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/s";
  EventLoop loop;
  std::vector<UniqueFd> accepted;
  std::function<void(UniqueFd)> give;
  for (const bool agrees : {true, false}) {
    accepted.clear();
    Listener listener(
        &loop, std::move(ListenUnix(path, 16).value()),
        [&](UniqueFd fd) { accepted.push_back(std::move(fd)); }, [] {},
        [&](int fd, std::function<void(UniqueFd)> on_connection) {
          EXPECT_GE(fd, 0);
          give = std::move(on_connection);
          return agrees;
        });
    const auto client = ConnectUnix(path);
    loop.RunOnce(0);
    EXPECT_EQ(accepted.size(), agrees ? 0u : 1u);
    give(UniqueFd());
    EXPECT_EQ(accepted.size(), agrees ? 1u : 2u);
  }
  unlink(path.c_str());
  rmdir(directory.c_str());
}

}  // namespace
}  // namespace canopy::endpoint
