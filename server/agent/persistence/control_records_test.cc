#include "server/agent/persistence/control_records.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace canopy::agent {
namespace {

class ControlRecordsTest : public testing::Test {
 protected:
  ControlRecordsTest() {
    char path[] = "/tmp/control-test-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ControlRecordsTest() override { EXPECT_EQ(rmdir(directory_.c_str()), 0); }
  std::string File() const { return directory_ + "/job-a.control"; }

  std::string directory_;
};

TEST_F(ControlRecordsTest, TheNextProcessLoadsTheLastValueOfEachKey) {
  ControlRecords before(directory_);
  EXPECT_TRUE(before.Persist("a", "spec", std::string("x\0y", 3)).ok());
  EXPECT_TRUE(before.Persist("a", "state", "1").ok());
  EXPECT_TRUE(before.Persist("b", "spec", "").ok());
  EXPECT_TRUE(before.Persist("a", "state", "22").ok());

  ControlRecords after(directory_);
  EXPECT_FALSE(after.Has("a"));
  auto jobs = after.Load();
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs["a"]["spec"], std::string("x\0y", 3));
  EXPECT_EQ(jobs["a"]["state"], "22");
  EXPECT_EQ(jobs["b"].at("spec"), "");
  EXPECT_TRUE(after.Has("a"));
  EXPECT_TRUE(after.Persist("a", "state", "333").ok());
  EXPECT_EQ(after.Load()["a"]["state"], "333");
  after.Drop("a");
  EXPECT_EQ(after.Load().size(), 1u);
  after.DropAll();
  EXPECT_TRUE(after.Load().empty());
}

TEST_F(ControlRecordsTest, OnlyTheLastValueOfAReplacedRecordIsKept) {
  ControlRecords before(directory_);
  EXPECT_TRUE(before.Persist("a", "spec", "").ok());
  EXPECT_EQ(before.Replaced("a"), "");
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(before.Replace("a", "value " + std::to_string(i)).ok());
  }
  ControlRecords after(directory_);
  EXPECT_EQ(after.Load().size(), 1u);
  EXPECT_EQ(after.Replaced("a"), "value 99");
  after.Drop("a");
  EXPECT_EQ(after.Replaced("a"), "");
}

TEST_F(ControlRecordsTest, ATruncatedRecordIsIgnored) {
  ControlRecords before(directory_);
  EXPECT_TRUE(before.Persist("a", "state", "whole").ok());
  struct stat info;
  ASSERT_EQ(stat(File().c_str(), &info), 0);
  EXPECT_TRUE(before.Persist("a", "state", "cut short").ok());
  for (off_t cut = info.st_size + 1; cut < info.st_size * 2; ++cut) {
    ASSERT_EQ(truncate(File().c_str(), cut), 0);
    ControlRecords after(directory_);
    EXPECT_EQ(after.Load()["a"]["state"], "whole");
    EXPECT_TRUE(after.Persist("a", "state", "new").ok());
    EXPECT_EQ(after.Load()["a"]["state"], "new");
    ASSERT_EQ(truncate(File().c_str(), info.st_size), 0);
    EXPECT_TRUE(after.Persist("a", "state", "cut short").ok());
  }
  before.Drop("a");
}

TEST_F(ControlRecordsTest, OnlyPrivateFilesAreRead) {
  ControlRecords records(directory_);
  EXPECT_TRUE(records.Persist("a", "spec", "x").ok());
  ASSERT_EQ(chmod(File().c_str(), 0644), 0);
  EXPECT_TRUE(ControlRecords(directory_).Load().empty());
  EXPECT_FALSE(records.Persist("../a", "spec", "x").ok());
  records.Drop("a");
}

}  // namespace
}  // namespace canopy::agent
