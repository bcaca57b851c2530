#include "client/abi/libc_compat.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace canopy::client {
namespace {

void ExpectLikeTheSystem(void* pc) {
  dl_find_object ours{};
  dl_find_object system{};
  ASSERT_EQ(_dl_find_object(pc, &system), 0);
  ASSERT_EQ(FindObject(pc, &ours), 0);
  EXPECT_EQ(ours.dlfo_eh_frame, system.dlfo_eh_frame);
  EXPECT_LE(ours.dlfo_map_start, pc);
  EXPECT_GT(ours.dlfo_map_end, pc);
  EXPECT_EQ(ours.dlfo_map_start, system.dlfo_map_start);
}

TEST(LibcCompat, FindsTheProgramAndItsLibraries) {
  ExpectLikeTheSystem(reinterpret_cast<void*>(&ExpectLikeTheSystem));
  ExpectLikeTheSystem(reinterpret_cast<void*>(dlsym(RTLD_DEFAULT, "fopen")));
}

TEST(LibcCompat, AddressesOutsideOfObjectsAreNotFound) {
  dl_find_object ours{};
  int local = 0;
  EXPECT_EQ(FindObject(&local, &ours), -1);
  EXPECT_EQ(FindObject(nullptr, &ours), -1);
}

TEST(LibcCompat, RandomNumbersDiffer) {
  const std::uint32_t first = RandomNumber();
  bool differs = false;
  for (int i = 0; i < 8 && !differs; ++i) differs = RandomNumber() != first;
  EXPECT_TRUE(differs);
}

// A condition variable with its mutex, which the test holds.
class LibcCompatWaitTest : public testing::Test {
 protected:
  void SetUp() override { pthread_mutex_lock(&mutex_); }
  void TearDown() override { pthread_mutex_unlock(&mutex_); }

  static timespec After(std::int64_t ns) {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    const std::int64_t sum = time.tv_nsec + ns;
    return {time.tv_sec + sum / 1'000'000'000, sum % 1'000'000'000};
  }

  int Wait(const timespec& deadline) {
    return WaitBySystemClock(&condition_, &mutex_, CLOCK_MONOTONIC, &deadline);
  }

  // The start function of a thread that notifies the test's condition variable.
  static void* Notify(void* self) {
    auto& test = *static_cast<LibcCompatWaitTest*>(self);
    pthread_mutex_lock(&test.mutex_);
    pthread_cond_signal(&test.condition_);
    pthread_mutex_unlock(&test.mutex_);
    return nullptr;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

TEST_F(LibcCompatWaitTest, EndsAtTheDeadlineAndNotBefore) {
  const timespec deadline = After(20'000'000);
  EXPECT_EQ(Wait(deadline), ETIMEDOUT);
  const timespec now = After(0);
  EXPECT_GE(now.tv_sec * 1e9 + now.tv_nsec,
            deadline.tv_sec * 1e9 + deadline.tv_nsec - 1e6);
  EXPECT_EQ(Wait(After(0)), ETIMEDOUT);
}

TEST_F(LibcCompatWaitTest, RejectsATimeThatIsNone) {
  EXPECT_EQ(Wait({0, -1}), EINVAL);
  EXPECT_EQ(Wait({0, 1'000'000'000}), EINVAL);
}

TEST_F(LibcCompatWaitTest, EndsWithANotification) {
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, Notify, this), 0);
  EXPECT_EQ(Wait({INT64_MAX / 1'000'000'000, 999'999'999}), 0);
  pthread_join(thread, nullptr);
}

TEST_F(LibcCompatWaitTest, UsesTheFunctionOfTheCLibraryWhereItExists) {
  EXPECT_EQ(FindCondClockWait(), &pthread_cond_clockwait);
}

// Returns the exit code of a process that runs `body`, or -1 if it is killed.
int ExitCodeOf(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) body();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int steps = 0;

TEST(LibcCompat, ForkHandlersRunAroundAFork) {
  const auto body = [] {
    if (RegisterForkHandlers([] { steps += 1; }, [] { steps += 2; },
                             [] { steps += 4; }) != 0) {
      _exit(100);
    }
    const pid_t child = fork();
    if (child == 0) _exit(steps);
    int status = 0;
    waitpid(child, &status, 0);
    _exit(10 * WEXITSTATUS(status) + steps);
  };
  EXPECT_EQ(ExitCodeOf(body), 53);
}

TEST(LibcCompat, ExitHandlersRunAtTheEnd) {
  const auto body = [] {
    if (RegisterExitHandler([] { _exit(7); }) != 0) _exit(100);
    std::exit(0);
  };
  EXPECT_EQ(ExitCodeOf(body), 7);
}

}  // namespace
}  // namespace canopy::client
