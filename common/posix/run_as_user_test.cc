#include "common/posix/run_as_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

constexpr uid_t kUid = 12345;
constexpr FileUser kUser = {kUid, kUid};

std::vector<gid_t> Groups() {
  std::vector<gid_t> out(static_cast<size_t>(getgroups(0, nullptr)));
  getgroups(static_cast<int>(out.size()), out.data());
  return out;
}

class RunAsUserTest : public testing::Test {
 protected:
  RunAsUserTest() {
    const UniqueFd fd(mkstemp(path_.data()));
    EXPECT_TRUE(fd);
  }
  ~RunAsUserTest() override { unlink(path_.c_str()); }

  bool CanRead() const {
    return static_cast<bool>(UniqueFd(open(path_.c_str(), O_RDONLY)));
  }
  bool CanRead(const FileUser& user) const {
    bool can = false;
    const Status status = RunAsUser(user, [&] { can = CanRead(); });
    EXPECT_TRUE(status.ok()) << status.message();
    return can;
  }

  std::string path_ = "/tmp/run_as_user_test.XXXXXX";
};

class RunAsUserAsRootTest : public RunAsUserTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  }
};

TEST_F(RunAsUserTest, AProcessUsesItsOwnRightsForItsOwnUser) {
  EXPECT_TRUE(CanRead({geteuid(), getegid()}));
}

TEST_F(RunAsUserTest, AnUnprivilegedProcessCannotActForAnotherUser) {
  if (geteuid() == 0) GTEST_SKIP() << "root may";
  EXPECT_FALSE(IsPrivileged());
  bool called = false;
  EXPECT_EQ(RunAsUser(kUser, [&] { called = true; }).code(), kErrNoPermissions);
  EXPECT_FALSE(called);
}

TEST_F(RunAsUserAsRootTest, TheRightsOfRootAreNotUsedForAUser) {
  const std::vector<gid_t> groups = Groups();
  for (const mode_t mode : {0600, 0640}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_FALSE(CanRead(kUser)) << mode;
  }
  EXPECT_TRUE(CanRead());
  EXPECT_EQ(Groups(), groups);
}

TEST_F(RunAsUserAsRootTest, TheRightsOfTheUserAndItsGroupAreUsed) {
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  ASSERT_EQ(chown(path_.c_str(), 0, kUid), 0);
  EXPECT_TRUE(CanRead(kUser));
  EXPECT_FALSE(CanRead({kUid, kNoGroup}));
}

TEST_F(RunAsUserAsRootTest, NewFilesBelongToTheUserAndStayOpen) {
  const std::string made = path_ + ".made";
  UniqueFd fd;
  ASSERT_TRUE(RunAsUser(kUser, [&] {
                fd = UniqueFd(open(made.c_str(), O_CREAT | O_WRONLY, 0600));
              }).ok());
  struct stat info = {};
  EXPECT_EQ(fstat(fd.get(), &info), 0);
  EXPECT_EQ(info.st_uid, kUid);
  EXPECT_EQ(info.st_gid, kUid);
  unlink(made.c_str());
}

TEST_F(RunAsUserAsRootTest, RootActsForRootWithoutAThread) {
  pid_t thread = 0;
  ASSERT_TRUE(RunAsUser({0, 0}, [&] { thread = gettid(); }).ok());
  EXPECT_EQ(thread, gettid());
}

TEST_F(RunAsUserAsRootTest, TheFunctionRunsInAnotherThreadOfThisProcess) {
  pid_t process = 0;
  pid_t thread = 0;
  ASSERT_TRUE(RunAsUser(kUser, [&] {
                process = getpid();
                thread = static_cast<pid_t>(syscall(SYS_gettid));
              }).ok());
  EXPECT_EQ(process, getpid());
  EXPECT_NE(thread, gettid());
}

TEST_F(RunAsUserAsRootTest, TheUserMinusOneIsRejected) {
  bool called = false;
  EXPECT_EQ(RunAsUser({}, [&] { called = true; }).code(), kErrNoPermissions);
  EXPECT_FALSE(called);
}

TEST_F(RunAsUserAsRootTest, SignalsAreBlockedOnlyWhileTheFunctionRuns) {
  sigset_t before;
  sigset_t meanwhile;
  sigset_t after;
  sigemptyset(&meanwhile);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_TRUE(RunAsUser(kUser, [&] {
                pthread_sigmask(SIG_SETMASK, nullptr, &meanwhile);
              }).ok());
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), 0);
  EXPECT_EQ(sigismember(&meanwhile, SIGTERM), 1);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

// Acts like slurmstepd, which drops root's identity temporarily and takes it
// back while other threads run.
TEST_F(RunAsUserAsRootTest, ASeteuidOfAnotherThreadDoesNotChangeTheRights) {
  std::atomic<bool> over = false;
  std::atomic<int> changes = 0;
  std::thread other([&] {
    while (!over) {
      if (seteuid(kUid + 1) == 0 && seteuid(0) == 0) ++changes;
    }
  });
  int reads = 0;
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const Status status = RunAsUser(kUser, [&] {
      for (int j = 0; j < 10; ++j) reads += CanRead() ? 1 : 0;
    });
    refused += status.ok() ? 0 : 1;
  }
  while (changes == 0) std::this_thread::yield();
  over = true;
  other.join();
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace canopy
