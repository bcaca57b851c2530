#include "server/agent/agent.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include "protos/bootstrap.pb.h"
#include "protos/control.grpc.pb.h"

namespace canopy::agent {
namespace {

// The directory is in /tmp, because Bazel's test directory is too long for a
// socket's name.
class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    char path[] = "/tmp/agent-test-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~AgentTest() override { std::filesystem::remove_all(directory_); }

  bootstrap::v1::Config ConfigOf(const std::string& security) const;

  std::string directory_;
};

bootstrap::v1::Config AgentTest::ConfigOf(const std::string& security) const {
  bootstrap::v1::Config config;
  config.set_version(1);
  config.set_overlay_id(std::string(16, 'o'));
  config.set_cluster_key(std::string(32, 'k'));
  config.set_node_name("node1");
  config.set_radix(2);
  config.set_security(security);
  config.set_listen("127.0.0.1");
  config.set_embedded(true);
  config.set_runtime_dir(directory_);
  config.add_member_names("node1");
  config.add_member_names("node2");
  return config;
}

// Returns the status with which the agent's port answers a call of its control
// service.
grpc::StatusCode CallControl(const std::string& address) {
  const auto stub = control::v1::Control::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  control::v1::StatusReply reply;
  return stub->Status(&context, {}, &reply).error_code();
}

// The launcher of a daemon. It waits for a second member, which never comes.
class Launcher {
 public:
  Launcher() {
    EXPECT_EQ(pipe(in_), 0);
    EXPECT_EQ(pipe(out_), 0);
  }
  ~Launcher() {
    Leave();
    for (const int fd : {in_[0], out_[0], out_[1]}) close(fd);
  }
  // Ends the agent's Run. Any thread.
  void Leave() {
    if (in_[1] >= 0) close(std::exchange(in_[1], -1));
  }
  // Runs the agent until Leave.
  void Run(Agent* agent, bootstrap::v1::NodeInfo info) {
    bootstrap::v1::Members members;
    *members.add_nodes() = std::move(info);
    members.add_nodes()->set_name("node2");
    members.mutable_nodes(1)->set_address("127.0.0.1:1");
    BootstrapChannel channel(in_[0], out_[1]);
    agent->Join(members, &channel, [] { ADD_FAILURE() << "became ready"; });
    agent->Run();
  }

 private:
  int in_[2];
  int out_[2];
};

TEST_F(AgentTest, ControlIsServedOnTheNetworkOnlyWithTls) {
  auto config = ConfigOf("plaintext");
  config.set_embedded(false);
  Agent agent(config);
  bootstrap::v1::NodeInfo info;
  const Status status = agent.Prepare(&info);
  ASSERT_TRUE(status.ok()) << status.message();
  Launcher launcher;
  auto code = std::async(std::launch::async, [&] {
    const auto result = CallControl(info.control_address());
    launcher.Leave();
    return result;
  });
  launcher.Run(&agent, info);
  EXPECT_EQ(code.get(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AgentTest, ADaemonEndsWhenItsLauncherLeavesBeforeItIsReady) {
  auto config = ConfigOf("tls");
  config.set_embedded(false);
  Agent agent(config);
  bootstrap::v1::NodeInfo info;
  ASSERT_TRUE(agent.Prepare(&info).ok());
  Launcher launcher;
  launcher.Leave();
  launcher.Run(&agent, info);
}

TEST_F(AgentTest, UnknownNamesOfSecurityModesAreRefused) {
  for (const char* mode : {"", "none", "PLAINTEXT"}) {
    Agent agent(ConfigOf(mode));
    bootstrap::v1::NodeInfo info;
    const Status status = agent.Prepare(&info);
    EXPECT_FALSE(status.ok()) << mode;
    EXPECT_NE(status.message().find("security mode"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace canopy::agent
