#include "common/posix/files_as.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

constexpr uid_t kUser = 12345;

std::vector<gid_t> Groups() {
  std::vector<gid_t> out(static_cast<size_t>(getgroups(0, nullptr)));
  getgroups(static_cast<int>(out.size()), out.data());
  return out;
}

class FilesAsTest : public testing::Test {
 protected:
  FilesAsTest() {
    const UniqueFd fd(mkstemp(path_.data()));
    EXPECT_TRUE(fd);
  }
  ~FilesAsTest() override { unlink(path_.c_str()); }

  bool CanRead() const {
    return static_cast<bool>(UniqueFd(open(path_.c_str(), O_RDONLY)));
  }

  std::string path_ = "/tmp/files_as_test.XXXXXX";
};

TEST_F(FilesAsTest, OnesOwnAreAsEver) {
  const FilesAs self(geteuid(), getegid());
  EXPECT_TRUE(self.ok());
  EXPECT_TRUE(CanRead());
}

TEST_F(FilesAsTest, WhoIsNotPrivilegedIsNobodyElse) {
  if (geteuid() == 0) GTEST_SKIP() << "root may";
  EXPECT_FALSE(FilesAs(kUser, kUser).ok());
}

TEST_F(FilesAsTest, RootsRightsAndGroupsDoNotCount) {
  if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  const std::vector<gid_t> groups = Groups();
  for (const mode_t mode : {0600, 0640}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const FilesAs user(kUser, kUser);
    EXPECT_TRUE(user.ok());
    EXPECT_FALSE(CanRead()) << mode;
  }
  EXPECT_TRUE(CanRead());
  EXPECT_EQ(Groups(), groups);
}

TEST_F(FilesAsTest, TheUsersRightsAndGroupDo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  ASSERT_EQ(chown(path_.c_str(), 0, kUser), 0);
  EXPECT_TRUE(FilesAs(kUser, kUser).ok());
  const FilesAs user(kUser, kUser);
  EXPECT_TRUE(CanRead());
}

}  // namespace
}  // namespace canopy
