#include "server/agent/persistence/agent_state.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <utility>

#include "common/posix/unix_socket.h"

namespace canopy::agent {
namespace {

class AgentStateTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/agent_state_test.XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory_ = path;
    state_.mutable_config()->set_node_name("n1");
    state_.mutable_config()->add_member_names("n1");
    state_.mutable_members()->add_nodes()->set_name("n1");
  }
  void TearDown() override {
    RemoveState(directory_);
    EXPECT_EQ(rmdir(directory_.c_str()), 0) << "something is left";
  }

  std::string directory_;
  bootstrap::v1::AgentState state_;
};

TEST_F(AgentStateTest, LoadsTheStateThatWasSavedLast) {
  ASSERT_TRUE(SaveState(directory_, state_).ok());
  state_.mutable_config()->set_radix(7);
  ASSERT_TRUE(SaveState(directory_, state_).ok());
  const auto loaded = LoadState(directory_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->SerializeAsString(), state_.SerializeAsString());
}

TEST_F(AgentStateTest, AMissingStateIsNotFound) {
  EXPECT_EQ(LoadState(directory_).code(), kErrNotFound);
}

TEST_F(AgentStateTest, AStateThatOthersCanReadIsRefused) {
  ASSERT_TRUE(SaveState(directory_, state_).ok());
  ASSERT_EQ(chmod((directory_ + "/agent.state").c_str(), 0644), 0);
  EXPECT_EQ(LoadState(directory_).code(), kErrNoPermissions);
}

TEST_F(AgentStateTest, ADamagedStateIsRefused) {
  ASSERT_TRUE(SaveState(directory_, state_).ok());
  std::ofstream(directory_ + "/agent.state") << "nonsense";
  EXPECT_EQ(LoadState(directory_).code(), kErrUnpackFailure);
}

TEST_F(AgentStateTest, IsServedReturnsTrueWhileAProcessListens) {
  const std::string path = directory_ + "/clients.sock";
  EXPECT_FALSE(IsServed(directory_, 0));
  {
    auto listener = ListenUnix(path, 1);
    ASSERT_TRUE(listener.ok());
    EXPECT_TRUE(IsServed(directory_, 1));
  }
  EXPECT_FALSE(IsServed(directory_, 0));
  unlink(path.c_str());
}

TEST_F(AgentStateTest, IsServedReturnsFalseWhenTheAgentEndsInTime) {
  const std::string path = directory_ + "/clients.sock";
  auto listener = ListenUnix(path, 1);
  ASSERT_TRUE(listener.ok());
  std::thread ends([socket = *std::move(listener)]() mutable {
    pollfd entry = {socket.get(), POLLIN, 0};
    poll(&entry, 1, -1);
    socket.Reset();
  });
  EXPECT_FALSE(IsServed(directory_, 60000));
  ends.join();
  unlink(path.c_str());
}

}  // namespace
}  // namespace canopy::agent
