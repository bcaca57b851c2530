#include "common/posix/open_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace canopy {
namespace {

constexpr uid_t kUid = 12345;

ino_t InodeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_ino;
}

ino_t InodeOf(const OpenedDirectory& directory) {
  struct stat info = {};
  EXPECT_EQ(fstat(directory.fd.get(), &info), 0);
  return info.st_ino;
}

class OpenDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    ASSERT_EQ(chmod(top_.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::string Make(const std::string& name, mode_t mode = 0755, uid_t uid = 0) {
    const std::string path = top_ + "/" + name;
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0) << path;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    if (uid != 0) {
      EXPECT_EQ(chown(path.c_str(), uid, uid), 0);
    }
    return path;
  }
  std::string Link(const std::string& target, const std::string& name,
                   uid_t uid = 0) {
    const std::string path = top_ + "/" + name;
    EXPECT_EQ(symlink(target.c_str(), path.c_str()), 0);
    if (uid != 0) {
      EXPECT_EQ(lchown(path.c_str(), uid, uid), 0);
    }
    return path;
  }
  // Expects the directory to which `path` leads and the users who control it.
  void ExpectOpens(const std::string& path, PathControl control,
                   const std::string& directory) {
    const auto opened = OpenDirectory(path);
    ASSERT_TRUE(opened.ok()) << path << ": " << opened.status().message();
    EXPECT_EQ(opened->control, control) << path;
    EXPECT_EQ(InodeOf(*opened), InodeOf(directory)) << path;
    const uid_t user = control == PathControl::kUser ? kUid : geteuid();
    EXPECT_EQ(opened->user.uid, user) << path;
  }

  std::string top_ = "/tmp/open_directory_test.XXXXXX";
};

class OpenDirectoryAsRootTest : public OpenDirectoryTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "root alone looks who is on the way";
    OpenDirectoryTest::SetUp();
  }
  void TearDown() override {
    if (geteuid() == 0) OpenDirectoryTest::TearDown();
  }
};

TEST_F(OpenDirectoryTest, LinksAndDotsInAPathAreFollowed) {
  const std::string own = Make("own");
  Make("own/inner");
  Link(own, "absolute");
  Link("own/inner", "relative");
  ExpectOpens(own, PathControl::kOwn, own);
  ExpectOpens(own + "//inner/../inner/.", PathControl::kOwn, own + "/inner");
  ExpectOpens(top_ + "/absolute/inner", PathControl::kOwn, own + "/inner");
  ExpectOpens(top_ + "/relative", PathControl::kOwn, own + "/inner");
  ExpectOpens("/", PathControl::kOwn, "/");
  ExpectOpens("/tmp", PathControl::kOwn, "/tmp");
}

TEST_F(OpenDirectoryTest, RelativePathsAreRelativeToThisProcess) {
  const std::string before = std::filesystem::current_path();
  const std::string own = Make("own");
  ASSERT_EQ(chdir(top_.c_str()), 0);
  ExpectOpens("own", PathControl::kOwn, own);
  ExpectOpens(".", PathControl::kOwn, top_);
  ASSERT_EQ(chdir(before.c_str()), 0);
}

TEST_F(OpenDirectoryTest, FilesThatAreNotDirectoriesAreNotFound) {
  const std::string file = top_ + "/file";
  UniqueFd(open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  Link("loop", "loop");
  EXPECT_EQ(OpenDirectory(top_ + "/none").code(), kErrNotFound);
  EXPECT_EQ(OpenDirectory(file).code(), kErrNotFound);
  EXPECT_EQ(OpenDirectory(file + "/x").code(), kErrNotFound);
  EXPECT_EQ(OpenDirectory(top_ + "/loop").code(), kErrNoPermissions);
  EXPECT_NE(OpenDirectory(top_ + "/none").status().message().find("/none"),
            std::string::npos);
}

TEST_F(OpenDirectoryAsRootTest, TheUserControlsTheUsersDirectoryAndAllBelowIt) {
  const std::string users = Make("users", 0700, kUid);
  Make("users/inner");
  ExpectOpens(users, PathControl::kUser, users);
  ExpectOpens(users + "/inner", PathControl::kUser, users + "/inner");
}

TEST_F(OpenDirectoryAsRootTest, AUsersLinkIsFollowedWithTheUsersRights) {
  Make("secret", 0700);
  Make("secret/inner");
  const std::string open = Make("open");
  Make("users", 0700, kUid);
  Make("sticky", 01777);
  for (const std::string where : {"users/", "sticky/", ""}) {
    Link(open, where + "to-open", kUid);
    Link(top_ + "/secret/inner", where + "to-secret", kUid);
    ExpectOpens(top_ + "/" + where + "to-open", PathControl::kUser, open);
    EXPECT_EQ(OpenDirectory(top_ + "/" + where + "to-secret").code(),
              kErrNoPermissions)
        << where;
  }
}

TEST_F(OpenDirectoryAsRootTest, ARootLinkIsFollowedOnlyInARootDirectory) {
  Make("secret", 0700);
  const std::string inner = Make("secret/inner", 0700);
  Make("sticky", 01777);
  Make("shared", 0777);
  Make("users", 0700, kUid);
  for (const std::string where : {"sticky/", "shared/", "users/"}) {
    Link(inner, where + "link");
  }
  ExpectOpens(top_ + "/sticky/link", PathControl::kOwn, inner);
  // In these two directories, the link may be one that a user has moved there.
  for (const std::string where : {"shared/", "users/"}) {
    EXPECT_EQ(OpenDirectory(top_ + "/" + where + "link").code(),
              kErrNoPermissions)
        << where;
  }
}

TEST_F(OpenDirectoryAsRootTest, ADirectoryThatSeveralUsersCanChangeIsShared) {
  for (const mode_t mode : {0777, 0775}) {
    const std::string shared = Make("shared", mode);
    Make("shared/inner");
    ExpectOpens(shared, PathControl::kShared, shared);
    ExpectOpens(shared + "/inner", PathControl::kShared, shared + "/inner");
    std::filesystem::remove_all(shared);
  }
  Make("sticky", 01777);
  ExpectOpens(Make("sticky/inner"), PathControl::kOwn, top_ + "/sticky/inner");
}

TEST(SplitLast, APathIsSplitIntoDirectoryAndName) {
  const auto expect = [](const char* path, const char* directory,
                         const char* name) {
    const SplitPath split = SplitLast(path);
    EXPECT_EQ(split.directory, directory);
    EXPECT_EQ(split.name, name);
  };
  expect("/a/b/c", "/a/b", "c");
  expect("/tmp", "/", "tmp");
  expect("file", ".", "file");
}

}  // namespace
}  // namespace canopy
