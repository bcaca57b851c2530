#include "server/monitor/monitor_table.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::monitor {
namespace {

constexpr int64_t kSecond = int64_t{1000} * 1000 * 1000;
const ProcId kProc = {"job", 1};

MonitorCall Heartbeat(uint32_t seconds, uint32_t drops,
                      const std::string& id = "") {
  MonitorCall call;
  call.kind = Kind::kHeartbeat;
  call.id = id;
  call.alert = -109;
  call.seconds = seconds;
  call.drops = drops;
  return call;
}

MonitorCall File(bool size, bool accessed, bool modified) {
  MonitorCall call = Heartbeat(1, 0, "file");
  call.kind = Kind::kFile;
  call.path = "/file";
  call.size = size;
  call.accessed = accessed;
  call.modified = modified;
  return call;
}

class MonitorTableTest : public testing::Test {
 protected:
  // Returns the number of alerts in the seconds up to `to`.
  size_t Until(int64_t to) {
    size_t alerts = 0;
    for (; now_ < to; ++now_) {
      alerts += table_.TakeDue((now_ + 1) * kSecond).alerts.size();
    }
    return alerts;
  }
  // Checks the only file, which has this state. Returns true if there is an
  // alert.
  bool Probed(const FileState& state) {
    const Due due = table_.TakeDue(++now_ * kSecond);
    EXPECT_EQ(due.probes.size(), 1u);
    if (due.probes.size() != 1) return false;
    EXPECT_EQ(due.probes[0].path, "/file");
    return table_.OnProbed(due.probes[0].monitor, state).has_value();
  }

  int64_t now_ = 0;
  MonitorTable table_;
};

TEST_F(MonitorTableTest, AHeldJobRaisesNoAlert) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(10, 0)).ok());
  ASSERT_TRUE(table_.Start(0, {"other", 1}, Heartbeat(10, 0)).ok());
  table_.OnHeld(5 * kSecond, "job", true);
  EXPECT_EQ(Until(95), 1u) << "only of the other job";
  table_.OnHeld(95 * kSecond, "job", false);
  EXPECT_EQ(Until(104), 0u);
  EXPECT_EQ(Until(105), 1u) << "a whole period later";
}

TEST_F(MonitorTableTest, Job15AlertsAfterMoreDropsThanTolerated) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(10, 2, "id")).ok());
  EXPECT_EQ(table_.NextDue(), 10 * kSecond);
  EXPECT_EQ(Until(29), 0u);
  const Due due = table_.TakeDue(30 * kSecond);
  ASSERT_EQ(due.alerts.size(), 1u);
  EXPECT_EQ(due.alerts[0].proc, kProc);
  EXPECT_EQ(due.alerts[0].code, -109);
  EXPECT_EQ(due.alerts[0].id, "id");
}

TEST_F(MonitorTableTest, Job15AlertsOnceUntilThereIsAnotherHeartbeat) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0)).ok());
  EXPECT_EQ(Until(100), 1u);
  table_.Beat(kProc);
  EXPECT_EQ(Until(101), 0u);
  EXPECT_EQ(Until(200), 1u);
}

TEST_F(MonitorTableTest, Job19AProcessWithHeartbeatsRaisesNoAlert) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(2, 0)).ok());
  for (int i = 1; i < 50; ++i) {
    table_.Beat(kProc);
    table_.Beat({"job", 7});
    EXPECT_EQ(Until(2 * i), 0u);
  }
}

TEST_F(MonitorTableTest, Job16AFileWithoutChangesRaisesAnAlert) {
  ASSERT_TRUE(table_.Start(0, kProc, File(true, false, true)).ok());
  EXPECT_FALSE(Probed({true, 5, 1, 1}));
  EXPECT_FALSE(Probed({true, 6, 1, 1}));
  EXPECT_FALSE(Probed({true, 6, 1, 2}));
  EXPECT_TRUE(Probed({true, 6, 2, 2}));  // the file was only read
  EXPECT_FALSE(Probed({true, 6, 2, 2}));
  EXPECT_FALSE(Probed({true, 7, 2, 2}));
  EXPECT_TRUE(Probed({false, 0, 0, 0}));
  EXPECT_FALSE(Probed({true, 7, 2, 2}));
}

TEST_F(MonitorTableTest, Job16AFileThatIsNotReadRaisesAnAlert) {
  ASSERT_TRUE(table_.Start(0, kProc, File(false, true, false)).ok());
  EXPECT_FALSE(Probed({true, 5, 1, 1}));
  EXPECT_FALSE(Probed({true, 5, 2, 1}));
  EXPECT_TRUE(Probed({true, 6, 2, 2}));
}

TEST_F(MonitorTableTest, AFileSystemThatDoesNotAnswerShowsNoChange) {
  ASSERT_TRUE(table_.Start(0, kProc, File(true, false, false)).ok());
  const Due due = table_.TakeDue(1 * kSecond);
  ASSERT_EQ(due.probes.size(), 1u);
  const Due next = table_.TakeDue(2 * kSecond);
  EXPECT_TRUE(next.probes.empty());
  EXPECT_EQ(next.alerts.size(), 1u);
  EXPECT_FALSE(table_.OnProbed(due.probes[0].monitor, {true, 1, 1, 1}));
  EXPECT_FALSE(table_.OnProbed(due.probes[0].monitor, {true, 1, 1, 1}));
  EXPECT_FALSE(table_.OnProbed(99, {}));
}

TEST_F(MonitorTableTest, Job17CancelsByIdOrAll) {
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0, id)).ok());
  }
  ASSERT_TRUE(table_.Start(0, {"job", 2}, Heartbeat(1, 0, "a")).ok());
  EXPECT_TRUE(table_.Cancel(kProc, "a").ok());
  EXPECT_EQ(table_.Cancel(kProc, "a").code(), kErrNotFound);
  EXPECT_EQ(table_.size(), 3u);
  EXPECT_TRUE(table_.Cancel(kProc, "").ok());
  EXPECT_TRUE(table_.Cancel(kProc, "").ok());
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(Until(1), 1u);
}

TEST_F(MonitorTableTest, AMonitorWithTheSameIdReplacesTheOther) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0, "a")).ok());
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(50, 0, "a")).ok());
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(Until(49), 0u);
}

TEST_F(MonitorTableTest, TheMonitorsOfAProcessAreLimited) {
  for (size_t i = 0; i < kMaxMonitors; ++i) {
    ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0)).ok());
  }
  EXPECT_EQ(table_.Start(0, kProc, Heartbeat(1, 0)).code(), kErrOutOfResource);
  EXPECT_TRUE(table_.Start(0, {"job", 2}, Heartbeat(1, 0)).ok());
}

TEST_F(MonitorTableTest, MonitorsEndWithTheirProcess) {
  ASSERT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0)).ok());
  ASSERT_TRUE(table_.Start(0, {"job", 2}, Heartbeat(1, 0)).ok());
  ASSERT_TRUE(table_.Start(0, {"other", 2}, Heartbeat(1, 0)).ok());
  table_.DropProc(kProc);
  table_.DropProc(kProc);
  EXPECT_EQ(table_.size(), 2u);
  table_.DropJob("job");
  EXPECT_EQ(table_.size(), 1u);
  table_.DropJob("other");
  EXPECT_FALSE(table_.NextDue());
}

MonitorCall Usage(uint32_t seconds, const std::string& id = "") {
  MonitorCall call = Heartbeat(seconds, 0, id);
  call.kind = Kind::kUsage;
  call.alert = -114;
  call.usage.fields.proc = 1;
  return call;
}

TEST_F(MonitorTableTest, SamplesAreTakenPeriodically) {
  const auto number = table_.Start(0, kProc, Usage(2, "id"));
  ASSERT_TRUE(number.ok());
  EXPECT_TRUE(table_.TakeDue(2 * kSecond).samples.empty())
      << "the first sample is in progress";
  const auto first = table_.OnSampled(3 * kSecond, 3 * kSecond, *number);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->code, -114);
  EXPECT_EQ(first->id, "id");
  EXPECT_FALSE(table_.OnSampled(3 * kSecond, 0, *number).has_value());
  EXPECT_TRUE(table_.TakeDue(3 * kSecond).samples.empty());
  const Due due = table_.TakeDue(4 * kSecond);
  ASSERT_EQ(due.samples.size(), 1u);
  EXPECT_EQ(due.samples[0].monitor, *number);
  EXPECT_EQ(due.samples[0].proc, kProc);
  EXPECT_EQ(due.samples[0].usage.fields.proc, 1u);
  EXPECT_TRUE(due.alerts.empty());
}

TEST_F(MonitorTableTest, SamplesThatTakeLongAreTakenLessOften) {
  const auto number = table_.Start(0, kProc, Usage(1));
  table_.OnSampled(2 * kSecond, 0, *number);
  const int64_t next = (2 + 2 * kPauseFactor) * kSecond;
  EXPECT_EQ(table_.NextDue(), next);
  EXPECT_TRUE(table_.TakeDue(next - 1).samples.empty());
  EXPECT_EQ(table_.TakeDue(next).samples.size(), 1u);
}

TEST_F(MonitorTableTest, TheNumberOfUsageMonitorsHasALowerLimit) {
  for (size_t i = 0; i < kMaxUsageMonitors; ++i) {
    ASSERT_TRUE(table_.Start(0, kProc, Usage(1, std::to_string(i))).ok());
  }
  EXPECT_EQ(table_.Start(0, kProc, Usage(1)).code(), kErrOutOfResource);
  EXPECT_TRUE(table_.Start(0, kProc, Usage(2, "0")).ok()) << "replaces one";
  EXPECT_TRUE(table_.Start(0, kProc, Heartbeat(1, 0)).ok());
  table_.DropProc(kProc);
  for (size_t i = 0; i < kMaxUsageMonitorsOfNode; ++i) {
    const ProcId proc = {"job", static_cast<Rank>(i)};
    ASSERT_TRUE(table_.Start(0, proc, Usage(1)).ok());
  }
  EXPECT_EQ(table_.Start(0, {"job", 4711}, Usage(1)).code(), kErrOutOfResource);
  table_.DropJob("job");
  EXPECT_TRUE(table_.Start(0, kProc, Usage(1)).ok());
}

}  // namespace
}  // namespace canopy::monitor
