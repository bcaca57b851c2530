#include "server/monitor/monitor_service.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/ports/fake_sink.h"

namespace canopy::monitor {
namespace {

constexpr uint32_t kUid = 1000;
constexpr int kUnanswered = 1;
const InfoList kUsage = {{PMIX_MONITOR_PROC_RESOURCE_USAGE, Value()}};

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
  return out;
}

// The clock of these tests is much faster than that of the loop's timers.
class MonitorServiceTest : public testing::Test {
 protected:
  MonitorServiceTest() {
    MonitorService::Options options;
    options.loop = &loop_;
    options.sink = &sink_;
    options.uid = kUid;
    options.now_ns = [this] { return now_ns_; };
    service_ = std::make_unique<MonitorService>(std::move(options));
  }

  int Call(const InfoList& what, const InfoList& with, int error = 0,
           uint32_t uid = kUid) {
    core::AskHost request;
    request.source = {"job", 1};
    request.uid = uid;
    request.call = Bytes(
        wire::Encode(host_call::Monitor{Encoded(what), error, Encoded(with)}));
    // This value stays if the call is not answered at once.
    answered_ = kUnanswered;
    service_->Call(request, [this](const Status& status, Bytes results) {
      answered_ = status.code();
      results_ = std::move(results);
    });
    return answered_;
  }
  // Advances the time until there are `count` events.
  std::vector<core::EventRaised> Events(size_t count) {
    Advance([&] { return sink_.All<core::EventRaised>().size() >= count; });
    return sink_.All<core::EventRaised>();
  }
  // Advances the time until `count` samples are requested.
  bool Wanted(size_t count) {
    Advance([&] { return sink_.All<core::UsageWanted>().size() >= count; });
    return sink_.All<core::UsageWanted>().size() == count;
  }
  void Advance(const std::function<bool()>& done) {
    const int64_t end = EventLoop::Now() + int64_t{20} * 1000 * 1000 * 1000;
    while (!done() && EventLoop::Now() < end) {
      now_ns_ += int64_t{5} * 1000 * 1000 * 1000;
      // The service sets its timer anew at each change of its table, so this
      // call makes it notice the new time.
      Call({{PMIX_MONITOR_HEARTBEAT, Value()}},
           {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(1u << 31)},
            {PMIX_MONITOR_ID, Value::String("never")}});
      loop_.RunOnce(10);
    }
  }

  EventLoop loop_;
  FakeSink sink_;
  int64_t now_ns_ = 0;
  std::unique_ptr<MonitorService> service_;
  int answered_ = kUnanswered;
  Bytes results_;
};

TEST_F(MonitorServiceTest, Job12AnAlertIsSentToTheNamespace) {
  ASSERT_EQ(Call({{PMIX_MONITOR_HEARTBEAT, Value()}},
                 {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(5)},
                  {PMIX_MONITOR_ID, Value::String("id")}}),
            kSuccess);
  const auto events = Events(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].status, PMIX_MONITOR_HEARTBEAT_ALERT);
  EXPECT_EQ(events[0].client, 0u);
  EXPECT_EQ(events[0].source, (ProcId{"job", 1}));
  EXPECT_EQ(events[0].range, PMIX_RANGE_NAMESPACE);
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(events[0].info.view(), &infos));
  EXPECT_EQ(infos.FindString(PMIX_MONITOR_ID), "id");
  EXPECT_EQ(infos.FindProc(PMIX_EVENT_AFFECTED_PROC), (ProcId{"job", 1}));
}

TEST_F(MonitorServiceTest, Job16AFileThatDoesNotGrowRaisesAnAlert) {
  char path[] = "/tmp/canopy-monitor-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  const InfoList with = {{PMIX_MONITOR_FILE_SIZE, Value::Bool(true)},
                         {PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(1)}};
  EXPECT_EQ(Call({{PMIX_MONITOR_FILE, Value::String(path)}}, with, -3000),
            kSuccess);
  const auto events = Events(1);
  close(fd);
  unlink(path);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].status, -3000);
  EXPECT_EQ(Call({{PMIX_MONITOR_FILE, Value::String(path)}}, with, 0, kUid + 1),
            kErrNotSupported);
}

TEST_F(MonitorServiceTest, ACallWithoutARateGetsOneSample) {
  ASSERT_EQ(Call(kUsage, {{PMIX_MONITOR_LOCAL_ONLY, Value::Bool(true)}}),
            kUnanswered);
  const auto wanted = sink_.All<core::UsageWanted>();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].caller, (ProcId{"job", 1}));
  EXPECT_NE(wanted[0].fields.proc, 0u);
  EXPECT_TRUE(wanted[0].targets.local_only);
  const Bytes results(Encoded({{"a", Value::Int(1)}}));
  service_->OnUsage({wanted[0].number + 1, kErrNotFound, {}});
  EXPECT_EQ(answered_, kUnanswered) << "of no call";
  service_->OnUsage({wanted[0].number, kSuccess, results});
  EXPECT_EQ(answered_, kSuccess);
  EXPECT_EQ(results_.view(), results.view());
  EXPECT_TRUE(sink_.All<core::EventRaised>().empty());
}

TEST_F(MonitorServiceTest, PeriodicSamplesAreOnlyForTheCaller) {
  Call(kUsage, {{PMIX_MONITOR_RESOURCE_RATE, Value::Uint32(1)},
                {PMIX_MONITOR_ID, Value::String("id")}});
  const Bytes results(Encoded({{"a", Value::Int(1)}}));
  // The call is answered with the first sample, and events have the other
  // samples.
  service_->OnUsage(
      {sink_.All<core::UsageWanted>().at(0).number, kSuccess, results});
  EXPECT_EQ(answered_, kSuccess);
  for (size_t i = 1; i < 3; ++i) {
    ASSERT_TRUE(Wanted(i + 1));
    const auto wanted = sink_.All<core::UsageWanted>().at(i);
    service_->OnUsage({wanted.number, kSuccess, results});
    const auto events = sink_.All<core::EventRaised>();
    ASSERT_EQ(events.size(), i);
    EXPECT_EQ(events.back().status, PMIX_MONITOR_RESUSAGE_UPDATE);
    EXPECT_EQ(events.back().source, (ProcId{"job", 1}));
    EXPECT_EQ(events.back().range, PMIX_RANGE_PROC_LOCAL);
    InfoList infos;
    ASSERT_TRUE(DecodeInfos(events.back().info.view(), &infos));
    EXPECT_EQ(infos.FindString(PMIX_MONITOR_ID), "id");
    EXPECT_EQ(infos.FindInt("a"), 1);
    EXPECT_TRUE(infos.Has(PMIX_EVENT_DO_NOT_CACHE));
  }
  EXPECT_EQ(Call({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}), kSuccess);
}

TEST_F(MonitorServiceTest, ASampleOfAMonitorThatHasEndedIsDropped) {
  Call(kUsage, {{PMIX_MONITOR_RESOURCE_RATE, Value::Uint32(1)}});
  service_->OnUsage(
      {sink_.All<core::UsageWanted>().at(0).number, kSuccess, {}});
  ASSERT_TRUE(Wanted(2));
  core::LocalExits exits;
  exits.nspace = "job";
  exits.exits.emplace_back().rank = 1;
  service_->OnLocalExits(exits);
  const Bytes results(Encoded({{"a", Value::Int(1)}}));
  service_->OnUsage(
      {sink_.All<core::UsageWanted>().at(1).number, kSuccess, results});
  EXPECT_TRUE(sink_.All<core::EventRaised>().empty());
}

TEST_F(MonitorServiceTest, AMonitorWhoseFirstSampleFailsDoesNotBegin) {
  Call(kUsage, {{PMIX_MONITOR_RESOURCE_RATE, Value::Uint32(1)},
                {PMIX_MONITOR_ID, Value::String("id")}});
  service_->OnUsage(
      {sink_.All<core::UsageWanted>().at(0).number, kErrNotFound, {}});
  EXPECT_EQ(answered_, kErrNotFound);
  EXPECT_EQ(Call({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}),
            kErrNotFound);
}

TEST_F(MonitorServiceTest, SamplesInProgressAreLimited) {
  for (size_t i = 0; i < kMaxSamples; ++i) {
    EXPECT_EQ(Call(kUsage, {}), kUnanswered);
  }
  EXPECT_EQ(Call(kUsage, {}), kErrResourceBusy);
  service_->OnUsage(
      {sink_.All<core::UsageWanted>().at(0).number, kSuccess, {}});
  EXPECT_EQ(Call(kUsage, {}), kUnanswered);
}

TEST_F(MonitorServiceTest, AMonitorEndsWithItsProcess) {
  ASSERT_EQ(Call({{PMIX_MONITOR_HEARTBEAT, Value()}},
                 {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(1)},
                  {PMIX_MONITOR_ID, Value::String("id")}}),
            kSuccess);
  core::LocalExits exits;
  exits.nspace = "job";
  exits.exits.emplace_back().rank = 1;
  service_->OnLocalExits(exits);
  EXPECT_EQ(Call({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}),
            kErrNotFound);
  EXPECT_EQ(Call({{PMIX_SEND_HEARTBEAT, Value()}}, {}), kSuccess);
}

TEST_F(MonitorServiceTest, AMonitorOfAToolEndsWithItsConnection) {
  ASSERT_EQ(Call({{PMIX_MONITOR_HEARTBEAT, Value()}},
                 {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(1)},
                  {PMIX_MONITOR_ID, Value::String("id")}}),
            kSuccess);
  service_->OnToolGone({"job", 2});
  EXPECT_EQ(Call({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}), kSuccess);
  ASSERT_EQ(Call({{PMIX_MONITOR_HEARTBEAT, Value()}},
                 {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(1)},
                  {PMIX_MONITOR_ID, Value::String("id")}}),
            kSuccess);
  service_->OnToolGone({"job", 1});
  EXPECT_EQ(Call({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}),
            kErrNotFound);
}

TEST_F(MonitorServiceTest, TheServiceCanBeDestroyedWhileAFileIsRead) {
  for (int i = 0; i < 20; ++i) {
    Call({{PMIX_MONITOR_FILE, Value::String("/tmp")}},
         {{PMIX_MONITOR_FILE_SIZE, Value::Bool(true)},
          {PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(1)}});
    loop_.RunOnce(0);
  }
  service_.reset();
  loop_.RunOnce(10);
}

}  // namespace
}  // namespace canopy::monitor
