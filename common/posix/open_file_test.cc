#include "common/posix/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace canopy {
namespace {

constexpr uid_t kUid = 12345;

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

uid_t OwnerOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_uid;
}

class OpenToWriteTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    ASSERT_EQ(chmod(top_.c_str(), 0755), 0);
    Put("precious", "text");
    ASSERT_EQ(chmod(At("precious").c_str(), 0600), 0);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::string At(const std::string& name) const { return top_ + "/" + name; }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(At(name)) << text;
  }
  void Make(const std::string& name, mode_t mode, uid_t uid) const {
    ASSERT_EQ(mkdir(At(name).c_str(), 0700), 0);
    ASSERT_EQ(chmod(At(name).c_str(), mode), 0);
    ASSERT_EQ(chown(At(name).c_str(), uid, uid), 0);
  }
  // Opens the file and writes a text. Returns true if the file then contains
  // only this text.
  bool Write(const std::string& name) const {
    const UniqueFd fd =
        OpenToWrite(At(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return fd && write(fd.get(), "new", 3) == 3 && ContentOf(At(name)) == "new";
  }

  std::string top_ = "/tmp/open_file_test.XXXXXX";
};

TEST_F(OpenToWriteTest, AnUnprivilegedProcessOpensItsFiles) {
  EXPECT_TRUE(Write("file"));
  Put("file", "a longer text");
  EXPECT_TRUE(Write("file"));
  ASSERT_EQ(symlink("file", At("link").c_str()), 0);
  EXPECT_TRUE(Write("link"));
  EXPECT_FALSE(OpenToWrite(At("none/file"), O_WRONLY | O_CREAT, 0600));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_TRUE(OpenToWrite("/dev/null", O_WRONLY, 0));
}

TEST_F(OpenToWriteTest, FilesInAUsersDirectoryBelongToTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  Make("users", 0700, kUid);
  EXPECT_TRUE(Write("users/file"));
  EXPECT_EQ(OwnerOf(At("users/file")), kUid);
  ASSERT_EQ(symlink(At("precious").c_str(), At("users/link").c_str()), 0);
  EXPECT_FALSE(Write("users/link"));
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(ContentOf(At("precious")), "text");
}

TEST_F(OpenToWriteTest, InASharedDirectoryRootWritesOnlyItsOwnFiles) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has more to lose";
  for (const mode_t mode : {01777, 0777}) {
    Make("several", mode, 0);
    EXPECT_TRUE(Write("several/file"));
    EXPECT_TRUE(Write("several/file"));
    ASSERT_EQ(symlink(At("precious").c_str(), At("several/link").c_str()), 0);
    EXPECT_FALSE(Write("several/link"));
    Put("several/theirs", "text");
    ASSERT_EQ(chown(At("several/theirs").c_str(), kUid, kUid), 0);
    EXPECT_FALSE(Write("several/theirs"));
    EXPECT_EQ(ContentOf(At("several/theirs")), "text");
    EXPECT_EQ(ContentOf(At("precious")), "text");
    std::filesystem::remove_all(At("several"));
  }
}

}  // namespace
}  // namespace canopy
