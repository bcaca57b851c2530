#include "client/cli/history/job_recorder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace canopy::cli {
namespace {

class JobRecorderTest : public testing::Test {
 protected:
  JobRecorderTest() : base_(Base()), store_(base_ + "/canopy") {}

  static std::string Base() {
    std::string base = testing::TempDir() + "/recorder-XXXXXX";
    EXPECT_NE(mkdtemp(base.data()), nullptr);
    return base;
  }
  JobRecorder Recorder() {
    HistoryEntry entry;
    entry.command = "true";
    return JobRecorder(store_, entry, [this](const std::string& text) {
      warnings_.push_back(text);
    });
  }

  const std::string base_;
  const HistoryStore store_;
  std::vector<std::string> warnings_;
};

TEST_F(JobRecorderTest, AJobIsInTheHistoryFromItsNameToItsEnd) {
  JobRecorder recorder = Recorder();
  recorder.Queued("a-1");
  EXPECT_EQ(store_.Find("a-1")->started_ms, 0);
  recorder.Mapped("a-1", {4, 2, "n1,n2"});
  EXPECT_EQ(store_.Find("a-1")->num_nodes, 2);
  EXPECT_EQ(store_.Find("a-1")->ended_ms, 0);
  recorder.Ended(3, "it failed");
  const auto entries = store_.List("");
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().exit_code, 3);
  EXPECT_EQ(entries->front().reason, "it failed");
  EXPECT_EQ(entries->front().command, "true");
  EXPECT_LE(entries->front().requested_ms, entries->front().started_ms);
  EXPECT_LE(entries->front().started_ms, entries->front().ended_ms);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(JobRecorderTest, ARequeuedJobIsFoundByEachOfItsNames) {
  JobRecorder recorder = Recorder();
  recorder.Mapped("a-1", {});
  recorder.Queued("a-1");
  recorder.Mapped("a-2", {});
  recorder.Mapped("a-3", {});
  recorder.Ended(0, "");
  EXPECT_EQ(store_.List("")->size(), 1u);
  for (const char* name : {"a-1", "a-2", "a-3"}) {
    ASSERT_TRUE(store_.Find(name).ok()) << name;
    EXPECT_EQ(store_.Find(name)->job, "a-3");
  }
}

TEST_F(JobRecorderTest, AJobWithoutANameIsNotRecorded) {
  Recorder().Ended(1, "no agent");
  EXPECT_TRUE(store_.List("")->empty());
}

TEST_F(JobRecorderTest, ASpawnedJobIsStoredWhenItHasEnded) {
  JobRecorder recorder = Recorder();
  recorder.set_output("/home/all.out");
  recorder.Mapped("a-1", {});
  recorder.Spawned({"a-2", "a-1", "./worker", {2, 1, "n1"}});
  recorder.Spawned({"a-2", "a-1", "./other", {}});
  EXPECT_EQ(store_.Find("a-2").code(), kErrNotFound);
  recorder.SpawnedEnded("a-2", 3, "rank 0 failed");
  recorder.SpawnedEnded("a-2", 0, "");
  recorder.SpawnedEnded("a-9", 0, "");
  ASSERT_EQ(store_.List("")->size(), 2u);
  const HistoryEntry spawned = *store_.Find("a-2");
  EXPECT_EQ(spawned.parent, "a-1");
  EXPECT_EQ(spawned.command, "./worker");
  EXPECT_EQ(spawned.nodes, "n1");
  EXPECT_EQ(spawned.exit_code, 3);
  EXPECT_EQ(spawned.reason, "rank 0 failed");
  EXPECT_EQ(spawned.output, "/home/all.out");
  EXPECT_EQ(spawned.launcher, MarkOfThisProcess());
  EXPECT_LE(spawned.started_ms, spawned.ended_ms);
  EXPECT_EQ(store_.Find("a-1")->parent, "");
}

TEST_F(JobRecorderTest, TheNumberOfSpawnedJobsIsLimited) {
  JobRecorder recorder = Recorder();
  recorder.Mapped("a-0", {});
  for (size_t i = 1; i <= JobRecorder::kMaxSpawned + 1; ++i) {
    recorder.Spawned({"a-" + std::to_string(i), "a-0", "", {}});
  }
  const size_t last = JobRecorder::kMaxSpawned;
  recorder.SpawnedEnded("a-" + std::to_string(last), 0, "");
  recorder.SpawnedEnded("a-" + std::to_string(last + 1), 0, "");
  EXPECT_EQ(store_.List("")->size(), 2u);
}

TEST_F(JobRecorderTest, AFailingStoreCausesOneWarning) {
  std::ofstream(base_ + "/canopy") << "not a directory";
  JobRecorder recorder = Recorder();
  recorder.Mapped("a-1", {});
  recorder.Ended(0, "");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("cannot use the history"), std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
