#include "common/posix/dir_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

class DirLockTest : public testing::Test {
 protected:
  DirLockTest() {
    base_ = testing::TempDir() + "/dirlockXXXXXX";
    EXPECT_NE(mkdtemp(base_.data()), nullptr);
    path_ = base_ + "/dir";
    EXPECT_EQ(mkdir(path_.c_str(), 0700), 0);
  }
  ~DirLockTest() override {
    rmdir(path_.c_str());
    rmdir(base_.c_str());
  }

  std::string base_;
  std::string path_;
};

TEST_F(DirLockTest, ALockHasOneHolderAtATime) {
  UniqueFd first;
  UniqueFd second;
  EXPECT_EQ(LockDir(path_, &first), DirLock::kLocked);
  EXPECT_EQ(LockDir(path_, &second), DirLock::kBusy);
  EXPECT_FALSE(second);
  first.Reset();
  EXPECT_EQ(LockDir(path_, &second), DirLock::kLocked);
}

TEST_F(DirLockTest, ASharedLockExcludesOnlyExclusiveOnes) {
  UniqueFd first = ShareDir(path_);
  UniqueFd second = ShareDir(path_);
  UniqueFd exclusive;
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(LockDir(path_, &exclusive), DirLock::kBusy);
  first.Reset();
  EXPECT_EQ(LockDir(path_, &exclusive), DirLock::kBusy);
  second.Reset();
  EXPECT_EQ(LockDir(path_, &exclusive), DirLock::kLocked);
  EXPECT_FALSE(ShareDir(base_ + "/none"));
}

TEST_F(DirLockTest, TheKernelReleasesTheLockWhenTheHolderEnds) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    UniqueFd held;
    _exit(LockDir(path_, &held) == DirLock::kLocked ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  UniqueFd fd;
  EXPECT_EQ(LockDir(path_, &fd), DirLock::kLocked);
}

TEST_F(DirLockTest, LockDirReturnsGoneIfThePathIsNotADirectory) {
  UniqueFd fd;
  EXPECT_EQ(LockDir(base_ + "/none", &fd), DirLock::kGone);
  const std::string link = base_ + "/link";
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_EQ(LockDir(link, &fd), DirLock::kGone);
  unlink(link.c_str());
  EXPECT_FALSE(fd);
}

TEST_F(DirLockTest, IsDirAtDetectsANewDirectoryOfTheSameName) {
  UniqueFd fd;
  ASSERT_EQ(LockDir(path_, &fd), DirLock::kLocked);
  EXPECT_TRUE(IsDirAt(fd.get(), path_));
  ASSERT_EQ(rmdir(path_.c_str()), 0);
  EXPECT_FALSE(IsDirAt(fd.get(), path_));
  // The open directory keeps its inode number from being reused.
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_FALSE(IsDirAt(fd.get(), path_));
}

}  // namespace
}  // namespace canopy
