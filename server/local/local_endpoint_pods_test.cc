// The socket for ranks in Kubernetes pods.
#include <gtest/gtest.h>

#include "server/local/local_endpoint_test_base.h"

namespace canopy::local {
namespace {

class PodEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->pod_of_peer = [this](int) -> Result<std::string> {
      if (peer_.empty()) return Status(kErrNoPermissions, "is in no pod");
      return peer_;
    };
    options->pod_of_job = [this](const std::string& nspace) {
      return nspace == "job" ? pod_of_job_ : std::string();
    };
  }
  void SetUp() override {
    LocalEndpointTest::SetUp();
    ASSERT_TRUE(endpoint_->ListenForPods(pod_path()).ok());
  }
  void TearDown() override {
    unlink(pod_path().c_str());
    LocalEndpointTest::TearDown();
  }
  std::string pod_path() const { return directory_ + "/pods"; }

  // Returns the status of the answer to a rank that connects at `path`.
  int StatusAt(const std::string& path, const std::string& token) {
    TestClient client(path);
    client.Hello({"job", 0}, token);
    Settle();
    return StatusOf(client.Next());
  }

  std::string peer_ = "pod-a";  // of those who connect; empty: none
  std::string pod_of_job_ = "pod-a";
};

TEST_F(PodEndpointTest, ARankInItsPodIsServed) {
  EXPECT_EQ(StatusAt(pod_path(), Token(0)), 0);
}

TEST_F(PodEndpointTest, ARankNeedsItsToken) {
  EXPECT_EQ(StatusAt(pod_path(), Token(1)), kErrInvalidCred);
  EXPECT_EQ(StatusAt(pod_path(), ""), kErrInvalidCred);
}

TEST_F(PodEndpointTest, AnotherPodIsRefusedEvenWithTheToken) {
  peer_ = "pod-b";
  EXPECT_EQ(StatusAt(pod_path(), Token(0)), kErrInvalidCred);
}

TEST_F(PodEndpointTest, AProcessOfTheNodeIsNoRankOfAPod) {
  EXPECT_EQ(StatusAt(path(), Token(0)), kErrInvalidCred);
}

TEST_F(PodEndpointTest, APodIsNoRankOfAJobOfTheNode) {
  pod_of_job_ = "";
  EXPECT_EQ(StatusAt(pod_path(), Token(0)), kErrInvalidCred);
  EXPECT_EQ(StatusAt(path(), Token(0)), 0);
}

TEST_F(PodEndpointTest, AProcessInNoPodIsDisconnectedAtOnce) {
  peer_.clear();
  TestClient client(pod_path());
  Settle();
  EXPECT_FALSE(client.Pump());
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("is in no pod"), std::string::npos) << log_[0];
}

// A tool with the agent's own user would have the rights of the agent.
TEST_F(PodEndpointTest, ToolsInPodsAreRefused) {
  TestClient tool(pod_path());
  tool.ToolHello({"", 0});
  Settle();
  EXPECT_EQ(StatusOf(tool.Next()), kErrNotSupported);
  EXPECT_TRUE(sink_.All<core::ClientConnected>().empty());
}

}  // namespace
}  // namespace canopy::local
