#include "client/abi/server_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace canopy::client {
namespace {

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ServerLogTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    ASSERT_EQ(chmod(top_.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  std::string At(const std::string& name) const { return top_ + "/" + name; }

  std::string top_ = "/tmp/server_log_test.XXXXXX";
  const std::string head_ = "canopy[" + std::to_string(getpid()) + "]: ";
};

TEST_F(ServerLogTest, LinesAreAppended) {
  AppendToServerLog(At("log"), "one");
  AppendToServerLog(At("log"), "two");
  EXPECT_EQ(ContentOf(At("log")), head_ + "one\n" + head_ + "two\n");
}

TEST_F(ServerLogTest, AClaimedNameBeginsNoLineOfItsOwn) {
  AppendToServerLog(At("log"), "refused x\ncanopy[1]: y");
  EXPECT_EQ(ContentOf(At("log")), head_ + "refused x\\ncanopy[1]: y\n");
}

TEST_F(ServerLogTest, AUsersOwnLinkIsFollowed) {
  ASSERT_EQ(symlink(At("far").c_str(), At("log").c_str()), 0);
  AppendToServerLog(At("log"), "one");
  EXPECT_EQ(ContentOf(At("far")), head_ + "one\n");
}

TEST_F(ServerLogTest, APipeWithoutAReaderDoesNotBlock) {
  ASSERT_EQ(mkfifo(At("log").c_str(), 0600), 0);
  AppendToServerLog(At("log"), "one");
  AppendToServerLog(At("none/log"), "one");
}

TEST_F(ServerLogTest, RootFollowsNoLinkInASharedDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has more to lose";
  ASSERT_EQ(chmod(top_.c_str(), 01777), 0);
  std::ofstream(At("precious")) << "text";
  ASSERT_EQ(symlink(At("precious").c_str(), At("link").c_str()), 0);
  AppendToServerLog(At("link"), "one");
  EXPECT_EQ(ContentOf(At("precious")), "text");
}

}  // namespace
}  // namespace canopy::client
