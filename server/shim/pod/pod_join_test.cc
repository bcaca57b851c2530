#include "server/shim/pod/pod_join.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "common/posix/unix_socket.h"
#include "common/status.h"

namespace canopy::process {
namespace {

std::string FrameOf(FrameType type, const std::string& payload) {
  FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = static_cast<uint8_t>(type);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         payload;
}

std::string NoticeOf(int status) {
  return FrameOf(FrameType::kNotice, Encode(Notice{status, "some news"}));
}

// An agent that answers each connection with the next of its texts. An empty
// text closes the connection; another leaves it open.
class PodJoinTest : public testing::Test {
 protected:
  PodJoinTest() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_.Reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~PodJoinTest() override {
    if (agent_.joinable()) agent_.join();
    unlink(Socket().c_str());
    rmdir(directory_.c_str());
  }
  std::string Socket() const { return directory_ + "/s"; }

  void Serve(std::vector<std::string> answers) {
    Result<UniqueFd> listener = ListenUnix(Socket(), 8);
    ASSERT_TRUE(listener.ok());
    agent_ = std::thread(
        [this, answers = std::move(answers), fd = std::move(*listener)] {
          for (const std::string& answer : answers) {
            UniqueFd peer;
            while (!peer) peer.Reset(accept(fd.get(), nullptr, nullptr));
            char join[1024];
            EXPECT_GT(recv(peer.get(), join, sizeof join, 0), 0);
            EXPECT_EQ(send(peer.get(), answer.data(), answer.size(), 0),
                      static_cast<ssize_t>(answer.size()));
            if (!answer.empty()) last_ = std::move(peer);
          }
        });
  }

  PodJoined Join(uint32_t agent_wait_ms = 20000) {
    PodJoinOptions options;
    options.socket = Socket();
    options.join.argv = {"./solver"};
    options.signals = signals_.get();
    options.agent_wait_ms = agent_wait_ms;
    return JoinAgent(options);
  }

  std::string directory_ = "/tmp/canopy-test-XXXXXX";
  UniqueFd signals_;
  UniqueFd last_;
  std::thread agent_;
};

TEST_F(PodJoinTest, TheJobsFirstFrameIsLeftAtTheConnection) {
  Serve({NoticeOf(kSuccess) + FrameOf(FrameType::kPrepare, "the job")});
  const PodJoined joined = Join();
  ASSERT_TRUE(joined.connection);
  FrameHeader header;
  ASSERT_EQ(recv(joined.connection.get(), &header, sizeof header, 0),
            static_cast<ssize_t>(sizeof header));
  EXPECT_EQ(header.type, static_cast<uint8_t>(FrameType::kPrepare));
  EXPECT_EQ(header.length, 7u);
}

TEST_F(PodJoinTest, AnAgentThatIsReplacedIsJoinedAgain) {
  Serve({"", FrameOf(FrameType::kPrepare, "")});
  EXPECT_TRUE(Join().connection);
}

TEST_F(PodJoinTest, APodThatCannotTakePartIsNotTriedAgain) {
  Serve({NoticeOf(kErrNotSupported)});
  const PodJoined joined = Join();
  EXPECT_FALSE(joined.connection);
  EXPECT_EQ(joined.exit_code, kPodRefusedExit);
}

TEST_F(PodJoinTest, APodThatWaitedInVainMayBeTriedAgain) {
  Serve({NoticeOf(kErrTimeout)});
  EXPECT_EQ(Join().exit_code, kPodRetryExit);
}

TEST_F(PodJoinTest, AMalformedNoticeEndsTheConnectionOnly) {
  Serve({FrameOf(FrameType::kNotice, "\xff\xff"),
         FrameOf(FrameType::kPrepare, "")});
  EXPECT_TRUE(Join().connection);
}

TEST_F(PodJoinTest, TheWaitForAnAgentIsLimited) {
  EXPECT_EQ(Join(/*agent_wait_ms=*/100).exit_code, kPodRetryExit);
}

TEST_F(PodJoinTest, ASignalEndsTheWait) {
  kill(getpid(), SIGUSR1);
  EXPECT_EQ(Join().exit_code, 128 + SIGUSR1);
}

}  // namespace
}  // namespace canopy::process
