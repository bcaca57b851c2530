#include "server/kubernetes/device_plugin/directory_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace canopy::kubernetes {
namespace {

namespace fs = std::filesystem;

class DirectoryWatchTest : public testing::Test {
 protected:
  DirectoryWatchTest() {
    std::string path = "/tmp/directory-watch-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    watch_ =
        std::make_unique<DirectoryWatch>(&loop_, path, [this] { ++changes_; });
  }
  ~DirectoryWatchTest() override {
    watch_.reset();
    fs::remove_all(directory_);
  }

  // Returns the number of reports about what has already happened.
  int Changes() {
    changes_ = 0;
    loop_.RunOnce(0);
    return changes_;
  }
  void Touch(const std::string& name) { std::ofstream(directory_ / name); }

  EventLoop loop_;
  fs::path directory_;
  std::unique_ptr<DirectoryWatch> watch_;
  int changes_ = 0;
};

TEST_F(DirectoryWatchTest, EntriesThatComeAndGoAreReportedOnceForARound) {
  ASSERT_TRUE(watch_->Start().ok());
  EXPECT_EQ(Changes(), 0);
  for (int i = 0; i < 100; ++i) Touch(std::to_string(i));
  EXPECT_EQ(Changes(), 1);
  EXPECT_EQ(Changes(), 0);
  fs::rename(directory_ / "1", directory_ / "name");
  EXPECT_EQ(Changes(), 1);
  fs::remove(directory_ / "name");
  EXPECT_EQ(Changes(), 1);
  EXPECT_TRUE(watch_->active());
}

TEST_F(DirectoryWatchTest, DataOfFilesIsNotReported) {
  Touch("file");
  ASSERT_TRUE(watch_->Start().ok());
  std::ofstream(directory_ / "file") << "data";
  EXPECT_EQ(Changes(), 0);
}

TEST_F(DirectoryWatchTest, LostEventsAreReportedAsAChange) {
  ASSERT_TRUE(watch_->Start().ok());
  // More than fit in the queue of the kernel (max_queued_events).
  for (int i = 0; i < 10'000; ++i) {
    Touch("a");
    fs::remove(directory_ / "a");
  }
  EXPECT_EQ(Changes(), 1);
  while (Changes() > 0) {
  }
  Touch("b");
  EXPECT_EQ(Changes(), 1);
}

TEST_F(DirectoryWatchTest, RemovedDirectoryEndsTheWatchWhichCanBeStartedAgain) {
  ASSERT_TRUE(watch_->Start().ok());
  fs::remove_all(directory_);
  EXPECT_EQ(Changes(), 1);
  EXPECT_FALSE(watch_->active());
  EXPECT_EQ(watch_->Start().code(), kErrNotFound);
  fs::create_directory(directory_);
  ASSERT_TRUE(watch_->Start().ok());
  Touch("file");
  EXPECT_EQ(Changes(), 1);
}

TEST_F(DirectoryWatchTest, MovedDirectoryEndsTheWatch) {
  ASSERT_TRUE(watch_->Start().ok());
  const fs::path other = directory_.string() + "-moved";
  fs::rename(directory_, other);
  EXPECT_EQ(Changes(), 1);
  EXPECT_FALSE(watch_->active());
  fs::remove(other);
}

TEST_F(DirectoryWatchTest, FileIsNoDirectory) {
  Touch("file");
  DirectoryWatch watch(&loop_, directory_ / "file", [] {});
  EXPECT_EQ(watch.Start().code(), kErrNotFound);
  EXPECT_FALSE(watch.active());
}

TEST_F(DirectoryWatchTest, ReportMayDestroyTheWatch) {
  watch_ = std::make_unique<DirectoryWatch>(&loop_, directory_, [this] {
    ++changes_;
    watch_.reset();
  });
  ASSERT_TRUE(watch_->Start().ok());
  Touch("file");
  EXPECT_EQ(Changes(), 1);
  EXPECT_EQ(watch_, nullptr);
}

}  // namespace
}  // namespace canopy::kubernetes
