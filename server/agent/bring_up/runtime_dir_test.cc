#include "server/agent/bring_up/runtime_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "common/posix/private_dir.h"

namespace canopy::agent {
namespace {

class RuntimeDirTest : public testing::Test {
 protected:
  RuntimeDirTest() {
    char base[] = "/tmp/rdXXXXXX";
    base_ = mkdtemp(base);
    setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  }
  ~RuntimeDirTest() override { std::filesystem::remove_all(base_); }

  static bool Exists(const std::string& path) {
    return std::filesystem::exists(path);
  }

  std::string base_;
};

TEST_F(RuntimeDirTest, TheLastAgentRemovesTheParents) {
  std::optional<RuntimeDir> one(
      *RuntimeDir::Make("", "overlay", "node1", false));
  std::optional<RuntimeDir> two(
      *RuntimeDir::Make("", "overlay", "node2", false));
  const std::string overlay = one->path().substr(0, one->path().rfind('/'));
  EXPECT_EQ(overlay,
            base_ + "/canopy-" + std::to_string(geteuid()) + "/overlay");
  struct stat info;
  ASSERT_EQ(stat(one->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  one.reset();
  EXPECT_FALSE(Exists(overlay + "/node1"));
  EXPECT_TRUE(Exists(overlay + "/node2"));
  two.reset();
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(RuntimeDirTest, ADirectoryWithFilesStays) {
  std::string path;
  {
    const Result<RuntimeDir> dir =
        RuntimeDir::Make("", "overlay", "node", false);
    ASSERT_TRUE(dir.ok());
    path = dir->path();
    std::ofstream(path + "/file") << "kept";
  }
  EXPECT_TRUE(Exists(path + "/file"));
}

TEST_F(RuntimeDirTest, OnlyTheLastPartOfAGivenPathIsRemoved) {
  std::filesystem::create_directory(base_ + "/parent");
  {
    const Result<RuntimeDir> dir =
        RuntimeDir::Make(base_ + "/parent/given", "overlay", "node", false);
    ASSERT_TRUE(dir.ok());
    EXPECT_EQ(dir->path(), base_ + "/parent/given");
  }
  EXPECT_FALSE(Exists(base_ + "/parent/given"));
  EXPECT_TRUE(Exists(base_ + "/parent"));
  EXPECT_FALSE(RuntimeDir::Make(base_ + "/none/given", "o", "n", false).ok());
}

TEST_F(RuntimeDirTest, AParentMadeForAgentsIsRemovedWithTheLastOne) {
  const std::string parent = base_ + "/parent";
  std::filesystem::create_directory(parent);
  std::optional<RuntimeDir> one(
      *RuntimeDir::Make(parent + "/0", "o", "n", true));
  std::optional<RuntimeDir> two(
      *RuntimeDir::Make(parent + "/1", "o", "n", true));
  one.reset();
  EXPECT_TRUE(Exists(parent + "/1"));
  two.reset();
  EXPECT_FALSE(Exists(parent));
}

TEST_F(RuntimeDirTest, TheLastAgentRemovesTheFilesOfAKilledLauncher) {
  const std::string user = base_ + "/canopy-" + std::to_string(geteuid());
  const std::string run = user + "/run-4711";
  ASSERT_TRUE(MakePrivateDir(user).ok());
  ASSERT_TRUE(MakePrivateDir(run).ok());
  std::ofstream(run + "/context.json") << "{}";
  std::optional<RuntimeDir> one(*RuntimeDir::Make(run + "/0", "o", "n", true));
  std::optional<RuntimeDir> two(*RuntimeDir::Make(run + "/1", "o", "n", true));
  one.reset();
  EXPECT_TRUE(Exists(run + "/context.json"));
  two.reset();
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(RuntimeDirTest, FilesOfOtherParentsStay) {
  const std::string parent = base_ + "/run-4711";
  ASSERT_TRUE(MakePrivateDir(parent).ok());
  std::ofstream(parent + "/file") << "kept";
  { (void)RuntimeDir::Make(parent + "/0", "o", "n", true); }
  EXPECT_TRUE(Exists(parent + "/file"));
  EXPECT_FALSE(Exists(parent + "/0"));
}

TEST_F(RuntimeDirTest, ADirectoryThatOthersMayEnterIsRefused) {
  std::filesystem::create_directory(base_ + "/open");
  chmod((base_ + "/open").c_str(), 0755);
  const Result<RuntimeDir> dir =
      RuntimeDir::Make(base_ + "/open", "o", "n", false);
  EXPECT_FALSE(dir.ok());
  EXPECT_NE(dir.status().message().find("not a private directory"),
            std::string::npos);
}

TEST_F(RuntimeDirTest, APathTooLongForSocketsIsRefused) {
  const Result<RuntimeDir> dir =
      RuntimeDir::Make("", "overlay", std::string(100, 'n'), false);
  EXPECT_EQ(dir.code(), kErrBadParam);
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

}  // namespace
}  // namespace canopy::agent
