#include "common/posix/private_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace canopy {
namespace {

class PrivateDirTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/canopy-private-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override {
    rmdir((root_ + "/d").c_str());
    unlink((root_ + "/d").c_str());
    rmdir(root_.c_str());
  }
  std::string root_;
};

TEST_F(PrivateDirTest, MakePrivateDirCreatesOrAcceptsADirectory) {
  const std::string path = root_ + "/d";
  ASSERT_TRUE(MakePrivateDir(path).ok());
  EXPECT_TRUE(MakePrivateDir(path).ok());
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(PrivateDirTest, ADirectoryThatOthersMayEnterIsRejected) {
  const std::string path = root_ + "/d";
  ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
  EXPECT_EQ(MakePrivateDir(path).code(), kErrNoPermissions);
  EXPECT_EQ(CheckPrivateDir(path).code(), kErrNoPermissions);
}

TEST_F(PrivateDirTest, AMissingParentIsReportedAsNotFound) {
  EXPECT_EQ(MakePrivateDir(root_ + "/none/d").code(), kErrNotFound);
  EXPECT_EQ(CheckPrivateDir(root_ + "/none").code(), kErrNotFound);
}

TEST_F(PrivateDirTest, ALinkIsRejected) {
  ASSERT_EQ(symlink("/root", (root_ + "/d").c_str()), 0);
  EXPECT_EQ(MakePrivateDir(root_ + "/d").code(), kErrNoPermissions);
}

TEST_F(PrivateDirTest, OthersMayEnterASearchableDirectory) {
  const std::string path = root_ + "/d";
  const auto mode = [&path] {
    struct stat info = {};
    stat(path.c_str(), &info);
    return info.st_mode & 0777;
  };
  ASSERT_TRUE(MakeSearchableDir(path).ok());
  EXPECT_EQ(mode(), 0711u);
  ASSERT_EQ(chmod(path.c_str(), 0700), 0);
  ASSERT_TRUE(MakeSearchableDir(path).ok());
  EXPECT_EQ(mode(), 0711u);
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  ASSERT_TRUE(MakeSearchableDir(path).ok());
  EXPECT_EQ(mode(), 0755u);
  ASSERT_EQ(chmod(path.c_str(), 0733), 0);
  EXPECT_EQ(MakeSearchableDir(path).code(), kErrNoPermissions);
  EXPECT_EQ(MakeSearchableDir(root_ + "/none/d").code(), kErrNotFound);
}

TEST_F(PrivateDirTest, ALinkIsNotSearchable) {
  ASSERT_EQ(symlink("/tmp", (root_ + "/d").c_str()), 0);
  EXPECT_EQ(MakeSearchableDir(root_ + "/d").code(), kErrNoPermissions);
}

TEST_F(PrivateDirTest, TheBaseIsTheRuntimeDirectoryIfItIsWritable) {
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", root_.c_str(), 1), 0);
  EXPECT_EQ(RuntimeBase(), root_);
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1), 0);
  EXPECT_EQ(RuntimeBase(), "/tmp");
}

TEST_F(PrivateDirTest, RootHasNoBaseThatAUserControls) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has more to lose";
  const std::string path = root_ + "/d";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", path.c_str(), 1), 0);
  EXPECT_EQ(RuntimeBase(), path);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(RuntimeBase(), "/tmp");
  EXPECT_FALSE(IsOwnDirectory(path));
  EXPECT_FALSE(IsOwnDirectory(root_ + "/none"));
}

}  // namespace
}  // namespace canopy
