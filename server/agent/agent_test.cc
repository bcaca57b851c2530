#include "server/agent/agent.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "protos/bootstrap.pb.h"
#include "protos/control.grpc.pb.h"

namespace canopy::agent {
namespace {

// Bazel's directory for tests is too long for a socket's name.
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

// What the agent's port answers to whoever can connect. The agent's loop does
// not run: a call that reaches its control service is never answered.
grpc::StatusCode AskForControl(const std::string& address) {
  const auto stub = control::v1::Control::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  control::v1::StatusReply reply;
  return stub->Status(&context, {}, &reply).error_code();
}

TEST_F(AgentTest, WithoutTlsNobodyControlsItOverTheNetwork) {
  Agent agent(ConfigOf("plaintext"));
  bootstrap::v1::NodeInfo info;
  const Status status = agent.Prepare(&info);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(AskForControl(info.control_address()),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AgentTest, ADaemonWhoseLauncherGoesAwayBeforeItIsReadyEnds) {
  auto config = ConfigOf("tls");
  config.set_embedded(false);
  Agent agent(config);
  bootstrap::v1::Members members;
  ASSERT_TRUE(agent.Prepare(members.add_nodes()).ok());
  // Nobody is there: the agent can not become ready.
  members.add_nodes()->set_name("node2");
  members.mutable_nodes(1)->set_address("127.0.0.1:1");
  int in[2];
  int out[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(out), 0);
  BootstrapChannel channel(in[0], out[1]);
  bool detached = false;
  agent.Join(members, &channel, [&] { detached = true; });
  close(in[1]);
  agent.Run();
  EXPECT_FALSE(detached);
  for (const int fd : {in[0], out[0], out[1]}) close(fd);
}

TEST_F(AgentTest, PlaintextIsChosenByNameOnly) {
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
