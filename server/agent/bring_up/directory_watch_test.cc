#include "server/agent/bring_up/directory_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace canopy::agent {
namespace {

constexpr int64_t kMs = 1000 * 1000;

class DirectoryWatchTest : public testing::Test {
 protected:
  DirectoryWatchTest() {
    std::filesystem::remove_all(top_);
    std::filesystem::create_directories(top_ + "/own");
    std::ofstream(top_ + "/own/file") << "x";
    std::ofstream(top_ + "/context") << "x";
    options_.directory = top_ + "/own";
    options_.shared = {top_, top_ + "/nothing"};
    options_.files = {top_ + "/context", top_ + "/nothing"};
    options_.look_ns = kMs;
    options_.removed = [this] { ++removed_; };
  }
  ~DirectoryWatchTest() override { std::filesystem::remove_all(top_); }

  static bool CanLock(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY);
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return locked;
  }
  static void Age(const std::string& path) {
    const timespec times[2] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  static bool IsOld(const std::string& path) {
    struct stat info = {};
    stat(path.c_str(), &info);
    return info.st_mtime == 1;
  }
  void RunFor(int64_t ns) {
    bool passed = false;
    loop_.AddTimer(ns, [&] { passed = true; });
    while (!passed) loop_.RunOnce(-1);
  }

  const std::string top_ = testing::TempDir() + "directory_watch";
  EventLoop loop_;
  DirectoryWatch::Options options_;
  int removed_ = 0;
};

TEST_F(DirectoryWatchTest, ACleanerFindsTheDirectoriesLocked) {
  EXPECT_TRUE(CanLock(top_));
  {
    const DirectoryWatch one(&loop_, options_);
    const DirectoryWatch another(&loop_, options_);
    EXPECT_FALSE(CanLock(top_));
    EXPECT_FALSE(CanLock(top_ + "/own"));
  }
  EXPECT_TRUE(CanLock(top_ + "/own"));
}

TEST_F(DirectoryWatchTest, FilesAreTouchedFromTimeToTime) {
  options_.touch_ns = kMs;
  const DirectoryWatch watch(&loop_, options_);
  const std::string all[] = {top_ + "/own/file", top_ + "/context"};
  for (const std::string& path : all) Age(path);
  while (IsOld(all[0]) || IsOld(all[1])) loop_.RunOnce(-1);
  EXPECT_EQ(removed_, 0);
}

TEST_F(DirectoryWatchTest, ARemovalIsReported) {
  const DirectoryWatch watch(&loop_, options_);
  RunFor(5 * kMs);
  EXPECT_EQ(removed_, 0);
  std::filesystem::remove_all(top_ + "/own");
  while (removed_ == 0) loop_.RunOnce(-1);
}

TEST_F(DirectoryWatchTest, AnotherDirectoryAtThePathIsARemoval) {
  const DirectoryWatch watch(&loop_, options_);
  std::filesystem::rename(top_ + "/own", top_ + "/elsewhere");
  std::filesystem::create_directory(top_ + "/own");
  while (removed_ == 0) loop_.RunOnce(-1);
}

}  // namespace
}  // namespace canopy::agent
