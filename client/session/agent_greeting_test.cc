#include "client/session/agent_greeting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/local/reply.h"
#include "common/posix/unique_fd.h"
#include "common/posix/unix_socket.h"

namespace canopy::client {
namespace {

using local::FrameType;

// Runs the test's treatments on the connections in order, each before the
// connection's hello is read.
class AgentGreetingTest : public ::testing::Test {
 protected:
  using Treatment = std::function<void(UniqueFd connection)>;

  AgentGreetingTest() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    auto listener = ListenUnix(path(), 8);
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    fcntl(listener_.get(), F_SETFL, 0);
  }
  ~AgentGreetingTest() override {
    shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }

  std::string path() const { return directory_ + "/s"; }
  void Serve(const std::vector<Treatment>& treatments) {
    thread_ = std::thread([this, treatments] {
      for (const Treatment& treat : treatments) {
        UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd) return;
        treat(std::move(fd));
      }
    });
  }
  Result<Greeted> Greet() const {
    return GreetAgent(path(), FrameType::kHello, "hello");
  }

  static void Close(UniqueFd) {}
  static void Answer(const UniqueFd& fd, int status) {
    const std::string content = wire::Encode(local::Reply{status, "welcome"});
    local::FrameHeader header;
    header.type = static_cast<uint16_t>(FrameType::kReply);
    header.length = static_cast<uint32_t>(content.size());
    header.tag = 1;
    std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
    frame += content;
    EXPECT_EQ(send(fd.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
  }

  std::string directory_ = "/tmp/canopy-greeting-XXXXXX";
  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(AgentGreetingTest, AnAgentThatClosesTheConnectionIsGreetedAgain) {
  Serve({Close, Close, [](UniqueFd fd) {
           Answer(fd, kSuccess);
           char bytes[64];
           recv(fd.get(), bytes, sizeof bytes, 0);
         }});
  const Result<Greeted> greeted = Greet();
  ASSERT_TRUE(greeted.ok()) << greeted.status().message();
  EXPECT_EQ(greeted->welcome, "welcome");
}

TEST_F(AgentGreetingTest, AGreetingFailsAfterThreeAttempts) {
  Serve({Close, Close, Close});
  EXPECT_EQ(Greet().code(), kErrUnreach);
}

TEST_F(AgentGreetingTest, ARefusalIsReadEvenIfTheHelloWasNotSent) {
  Serve({[](UniqueFd fd) { Answer(fd, kErrNoPermissions); }});
  EXPECT_EQ(Greet().code(), kErrNoPermissions);
}

TEST_F(AgentGreetingTest, AGreetingFailsWithoutAnAgent) {
  EXPECT_EQ(GreetAgent("/nonexistent/s", FrameType::kHello, "hello").code(),
            kErrUnreach);
  EXPECT_EQ(
      GreetAgent(std::string(200, 'x'), FrameType::kHello, "hello").code(),
      kErrBadParam);
}

}  // namespace
}  // namespace canopy::client
