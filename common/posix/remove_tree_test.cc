#include "common/posix/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

class RemoveTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    top_ = "/tmp/canopy-test-XXXXXX";
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    tree_ = top_ + "/tree";
    MakeDirectory(tree_);
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(top_, 1000).ok()); }

  static void MakeDirectory(const std::string& path) {
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0) << path;
  }
  static void MakeFile(const std::string& path) {
    const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_EXCL, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
  }
  static bool Exists(const std::string& path) {
    struct stat info;
    return lstat(path.c_str(), &info) == 0;
  }

  std::string top_;
  std::string tree_;
};

TEST_F(RemoveTreeTest, RemovesFilesAndDirectories) {
  MakeDirectory(tree_ + "/a");
  MakeDirectory(tree_ + "/a/b");
  MakeFile(tree_ + "/a/b/file");
  MakeFile(tree_ + "/file");
  EXPECT_TRUE(RemoveTree(tree_, 1000).ok());
  EXPECT_FALSE(Exists(tree_));
  EXPECT_TRUE(RemoveTree(tree_, 1000).ok()) << "absent already";
}

TEST_F(RemoveTreeTest, LinksAreNotFollowed) {
  MakeDirectory(top_ + "/other");
  MakeFile(top_ + "/other/file");
  ASSERT_EQ(symlink((top_ + "/other").c_str(), (tree_ + "/link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(tree_, 1000).ok());
  EXPECT_FALSE(Exists(tree_));
  EXPECT_TRUE(Exists(top_ + "/other/file"));
  ASSERT_EQ(symlink((top_ + "/other").c_str(), tree_.c_str()), 0);
  EXPECT_EQ(RemoveTree(tree_, 1000).code(), kErrPartialSuccess);
  EXPECT_TRUE(Exists(top_ + "/other/file"));
}

TEST_F(RemoveTreeTest, StopsAtTheLimit) {
  for (int i = 0; i < 20; ++i) MakeFile(tree_ + "/" + std::to_string(i));
  const Status status = RemoveTree(tree_, 10);
  EXPECT_EQ(status.code(), kErrPartialSuccess);
  EXPECT_TRUE(Exists(tree_));
}

TEST_F(RemoveTreeTest, DirectoriesThatAreTooDeepStay) {
  std::string path = tree_;
  for (int i = 0; i < 70; ++i) MakeDirectory(path += "/d");
  EXPECT_EQ(RemoveTree(tree_, 1000).code(), kErrPartialSuccess);
  std::string deep = tree_;
  for (int i = 0; i < 70; ++i) deep += "/d";
  EXPECT_TRUE(Exists(deep));
  for (; deep != tree_; deep.resize(deep.size() - 2)) rmdir(deep.c_str());
}

TEST_F(RemoveTreeTest, UsesTheOpenDirectoryAfterItsPathHasChanged) {
  MakeDirectory(top_ + "/other");
  MakeDirectory(top_ + "/other/inner");
  MakeDirectory(tree_ + "/inner");
  MakeFile(tree_ + "/inner/file");
  const UniqueFd parent(open(tree_.c_str(), O_PATH | O_DIRECTORY));
  ASSERT_EQ(rename(tree_.c_str(), (top_ + "/former").c_str()), 0);
  ASSERT_EQ(symlink((top_ + "/other").c_str(), tree_.c_str()), 0);
  EXPECT_TRUE(RemoveTreeAt(parent.get(), "inner", 1000).ok());
  EXPECT_FALSE(Exists(top_ + "/former/inner"));
  EXPECT_TRUE(Exists(top_ + "/other/inner"));
  EXPECT_TRUE(RemoveTreeAt(parent.get(), "inner", 1000).ok());
}

}  // namespace
}  // namespace canopy
