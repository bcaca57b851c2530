#include "client/cli/agents/agent_leftovers.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/posix/unix_socket.h"

namespace canopy::cli {
namespace {

class AgentLeftoversTest : public testing::Test {
 protected:
  AgentLeftoversTest() {
    char base[] = "/tmp/alXXXXXX";
    base_ = mkdtemp(base);
    directory_ = Make("canopy-" + std::to_string(geteuid()));
  }
  ~AgentLeftoversTest() override { std::filesystem::remove_all(base_); }

  // Creates the files that an agent leaves when it is killed during a job.
  std::string Make(const std::string& user) const {
    std::string path = base_;
    for (const std::string& next : {user, std::string("a1b2"), Node()}) {
      path += "/" + next;
      mkdir(path.c_str(), 0700);
    }
    std::ofstream(path + "/agent.state") << "state";
    std::filesystem::create_directories(path + "/canopy-a1b2-1/0");
    std::ofstream(path + "/canopy-a1b2-1/0/file") << "of a rank";
    EXPECT_TRUE(ListenUnix(path + "/clients.sock", 1).ok());
    return path;
  }
  static std::string Node() { return "node1"; }
  static bool Exists(const std::string& path) {
    return std::filesystem::exists(path);
  }

  std::string base_;
  std::string directory_;
};

TEST_F(AgentLeftoversTest, RemovesTheOverlaysDirectoryWithItsLastAgent) {
  const std::string overlay = directory_.substr(0, directory_.rfind('/'));
  mkdir((overlay + "/node2").c_str(), 0700);
  EXPECT_TRUE(RemoveAgentDirectory(directory_).ok());
  EXPECT_FALSE(Exists(directory_));
  EXPECT_TRUE(RemoveAgentDirectory(overlay + "/node2").ok());
  EXPECT_FALSE(Exists(overlay));
  EXPECT_TRUE(RemoveAgentDirectory(directory_).ok()) << "gone already";
}

TEST_F(AgentLeftoversTest, RemovesNothingWhileAProcessListens) {
  for (const char* name : {"/control.sock", "/shim-0123456789abcdef.sock"}) {
    const Result<UniqueFd> listener = ListenUnix(directory_ + name, 1);
    ASSERT_TRUE(listener.ok());
    EXPECT_EQ(RemoveAgentDirectory(directory_).code(), kErrResourceBusy);
    EXPECT_TRUE(Exists(directory_ + "/agent.state"));
  }
  EXPECT_TRUE(RemoveAgentDirectory(directory_).ok());
}

TEST_F(AgentLeftoversTest, KeepsDirectoriesThatAreNotAnAgents) {
  const std::string other = Make("of-somebody");
  EXPECT_TRUE(RemoveAgentDirectory(other).ok());
  EXPECT_TRUE(Exists(other + "/agent.state"));
  chmod(directory_.c_str(), 0755);
  EXPECT_TRUE(RemoveAgentDirectory(directory_).ok());
  EXPECT_TRUE(Exists(directory_ + "/agent.state"));
}

TEST_F(AgentLeftoversTest, FollowsNoLinks) {
  const std::string other = Make("of-somebody");
  const std::string link = directory_.substr(0, directory_.rfind('/')) + "/l";
  ASSERT_EQ(symlink(other.c_str(), link.c_str()), 0);
  EXPECT_TRUE(RemoveAgentDirectory(link).ok());
  ASSERT_EQ(symlink(other.c_str(), (directory_ + "/l").c_str()), 0);
  EXPECT_TRUE(RemoveAgentDirectory(directory_).ok());
  EXPECT_TRUE(Exists(other + "/agent.state"));
}

}  // namespace
}  // namespace canopy::cli
