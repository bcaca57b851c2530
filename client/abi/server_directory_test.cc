#include "client/abi/server_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace canopy::client {
namespace {

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

TEST(ServerDirectory, TheDestructorRemovesTheDirectoryWithItsContent) {
  auto made = ServerDirectory::Make(testing::TempDir(), false);
  ASSERT_TRUE(made.ok());
  std::optional<ServerDirectory> directory(*std::move(made));
  const std::string path = directory->path();
  std::ofstream(path + "/file") << "text";
  ASSERT_TRUE(Exists(path + "/file"));
  directory.reset();
  EXPECT_FALSE(Exists(path));
}

TEST(ServerDirectory, OtherUsersMayListTheDirectoryOnRequest) {
  for (const bool listed : {false, true}) {
    const auto made = ServerDirectory::Make(testing::TempDir(), listed);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(std::filesystem::status(made->path()).permissions(),
              std::filesystem::perms(listed ? 0755 : 0711));
  }
}

TEST(ServerDirectory, TheDirectoryIsBelowTmpIfTheBaseIsTooLongForSockets) {
  auto made = ServerDirectory::Make("/tmp/" + std::string(90, 'x'), false);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->path().starts_with("/tmp/canopy-"));
}

TEST(ServerDirectory, TheErrorNamesABaseThatDoesNotExist) {
  const auto made = ServerDirectory::Make("/no/such/directory", false);
  EXPECT_EQ(made.code(), kErrNoPermissions);
  EXPECT_NE(made.status().message().find("/no/such"), std::string::npos);
}

TEST(ServerDirectory, TheDirectoryIsAlsoTheParentOfTheJobsDirectories) {
  const auto made = ServerDirectory::Make(testing::TempDir(), false);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->jobs_path(), made->path());
  EXPECT_FALSE(made->jobs_are_users());
  EXPECT_EQ(mkdirat(made->jobs_fd(), "job", 0700), 0);
  EXPECT_TRUE(Exists(made->path() + "/job"));
}

// A server that runs as root, with a base that other users control.
class ServerDirectoryOfRoot : public testing::Test {
 protected:
  static constexpr uid_t kUid = 12345;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "root alone has something to lose";
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    ASSERT_EQ(chmod(top_.c_str(), 0755), 0);
    base_ = top_ + "/base";
    target_ = top_ + "/target";
    ASSERT_EQ(mkdir(base_.c_str(), 0700), 0);
    ASSERT_EQ(mkdir(target_.c_str(), 0700), 0);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  ServerDirectory Make() const {
    auto made = ServerDirectory::Make(base_, false);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  static struct stat Of(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info;
  }

  std::string top_ = "/tmp/server_directory_test.XXXXXX";
  std::string base_;
  std::string target_;
};

TEST_F(ServerDirectoryOfRoot, ADirectoryOfRootIsOutsideABaseOfTheUser) {
  ASSERT_EQ(chown(base_.c_str(), kUid, kUid), 0);
  std::string own;
  std::string jobs;
  {
    const ServerDirectory directory = Make();
    own = directory.path();
    jobs = directory.jobs_path();
    EXPECT_TRUE(directory.jobs_are_users());
    EXPECT_FALSE(own.starts_with(top_)) << own;
    EXPECT_EQ(Of(own).st_uid, 0u);
    EXPECT_EQ(Of(own).st_mode & 0777, 0711u);
    EXPECT_EQ(OpenDirectory(own)->control, PathControl::kOwn);
    EXPECT_TRUE(jobs.starts_with(base_ + "/canopy-")) << jobs;
    EXPECT_EQ(Of(jobs).st_uid, kUid);
    EXPECT_EQ(Of(jobs).st_gid, kNoGroup);
    std::ofstream(own + "/file") << "text";
    ASSERT_EQ(mkdir((jobs + "/job").c_str(), 0700), 0);
  }
  EXPECT_FALSE(Exists(own));
  EXPECT_FALSE(Exists(jobs));
}

TEST_F(ServerDirectoryOfRoot,
       AllDirectoriesAreOutsideABaseThatAllUsersCanChange) {
  ASSERT_EQ(chmod(base_.c_str(), 0777), 0);
  const ServerDirectory directory = Make();
  EXPECT_FALSE(directory.path().starts_with(top_));
  EXPECT_EQ(directory.jobs_path(), directory.path());
  EXPECT_FALSE(directory.jobs_are_users());
}

TEST_F(ServerDirectoryOfRoot, RemovalDoesNotFollowALinkOfTheUser) {
  ASSERT_EQ(chown(base_.c_str(), kUid, kUid), 0);
  const std::string precious = target_ + "/precious";
  std::ofstream(precious) << "text";
  {
    const ServerDirectory directory = Make();
    const std::string jobs = directory.jobs_path();
    ASSERT_EQ(rename(jobs.c_str(), (base_ + "/former").c_str()), 0);
    ASSERT_EQ(symlink(target_.c_str(), jobs.c_str()), 0);
  }
  EXPECT_TRUE(Exists(precious));
}

// Slurm's directories may belong to Slurm's account, and the directory of a
// step to the job's user.
TEST_F(ServerDirectoryOfRoot,
       TheJobsDirectoryBelongsToRootIfTheUserCannotCreateIt) {
  const std::string step = base_ + "/step";
  ASSERT_EQ(mkdir(step.c_str(), 0700), 0);
  ASSERT_EQ(chown(step.c_str(), kUid, kUid), 0);
  ASSERT_EQ(chown(base_.c_str(), kUid + 1, kUid + 1), 0);
  ASSERT_EQ(chmod(base_.c_str(), 0755), 0);
  const auto made = ServerDirectory::Make(step, false);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE(made->jobs_are_users());
  EXPECT_NE(made->jobs_path(), made->path());
  for (const std::string& path : {made->path(), made->jobs_path()}) {
    EXPECT_FALSE(path.starts_with(top_)) << path;
    EXPECT_EQ(Of(path).st_uid, 0u) << path;
  }
}

TEST_F(ServerDirectoryOfRoot,
       AllDirectoriesAreOutsideABaseThatTheUserCannotReach) {
  const std::string inner = base_ + "/secret/inner";
  std::filesystem::create_directories(inner);
  ASSERT_EQ(chmod((base_ + "/secret").c_str(), 0700), 0);
  ASSERT_EQ(chown(base_.c_str(), kUid, kUid), 0);
  const auto made = ServerDirectory::Make(inner, false);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->jobs_path(), made->path());
  EXPECT_FALSE(made->path().starts_with(top_));
}

}  // namespace
}  // namespace canopy::client
