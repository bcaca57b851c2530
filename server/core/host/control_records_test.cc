#include "server/core/host/control_records.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::core {
namespace {

const ProcId kProc = {"job", 3};

TEST(ControlRecords, ASuccessorRecoversTheRecords) {
  ControlRecords before;
  const PersistRecord record = before.Add("target", {kProc, 7});
  EXPECT_EQ(record.nspace, "target");
  EXPECT_TRUE(before.Contains("target", {kProc, 7}));
  ControlRecords after;
  EXPECT_FALSE(after.Contains("target", {kProc, 7}));
  after.Recover("target", {record.key, record.value});
  EXPECT_TRUE(after.Contains("target", {kProc, 7}));
  EXPECT_FALSE(after.Contains("target", {kProc, 8}));
  EXPECT_FALSE(after.Contains("other", {kProc, 7}));
  // The successor's records continue where those of the predecessor ended.
  EXPECT_NE(after.Add("target", {kProc, 8}).key, record.key);
  after.OnJobRemoved("target");
  EXPECT_FALSE(after.Contains("target", {kProc, 7}));
}

TEST(ControlRecords, OnlyTheLatestRecordsAreKept) {
  ControlRecords records;
  const PersistRecord first = records.Add("job", {kProc, 0});
  for (uint64_t i = 1; i < kControlsKept; ++i) records.Add("job", {kProc, i});
  EXPECT_EQ(records.Add("job", {kProc, kControlsKept}).key, first.key);
  EXPECT_FALSE(records.Contains("job", {kProc, 0}));
  EXPECT_TRUE(records.Contains("job", {kProc, 1}));
}

TEST(ControlRecords, MalformedRecordsAreIgnored) {
  ControlRecords records;
  const PersistRecord good = records.Add("job", {kProc, 1});
  ControlRecords other;
  other.Recover("job", {good.key, Bytes("x")});
  other.Recover("job", {"event 1", good.value});
  EXPECT_FALSE(other.Contains("job", {kProc, 1}));
}

}  // namespace
}  // namespace canopy::core
