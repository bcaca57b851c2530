#include "server/monitor/monitor_call.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::monitor {
namespace {

const InfoList kBeat = {{PMIX_MONITOR_HEARTBEAT, Value()}};
const InfoList kFile = {{PMIX_MONITOR_FILE, Value::String("/file")}};

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
  return out;
}

class MonitorCallTest : public testing::Test {
 protected:
  // Returns the call, and stores the status in status_.
  MonitorCall Read(const InfoList& what, const InfoList& with, int error = 0) {
    const std::string bytes =
        wire::Encode(host_call::Monitor{Encoded(what), error, Encoded(with)});
    const Result<MonitorCall> call =
        ReadMonitorCall({"job", 1}, bytes, &directives_);
    status_ = call.code();
    return call.ok() ? *call : MonitorCall();
  }

  host::Directives directives_ = MonitorDirectives(nullptr);
  int status_ = 0;
};

TEST_F(MonitorCallTest, Job15AHeartbeatMonitorIsParsed) {
  InfoList with = {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(5)},
                   {PMIX_MONITOR_HEARTBEAT_DROPS, Value::Uint32(2)},
                   {PMIX_MONITOR_ID, Value::String("id")}};
  with.Add(PMIX_MONITOR_APP_CONTROL, Value::Bool(true), PMIX_INFO_REQD);
  MonitorCall call = Read(kBeat, with);
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(call.kind, Kind::kHeartbeat);
  EXPECT_EQ(call.alert, PMIX_MONITOR_HEARTBEAT_ALERT);
  EXPECT_EQ(call.seconds, 5u);
  EXPECT_EQ(call.drops, 2u);
  EXPECT_EQ(call.id, "id");
  EXPECT_EQ(Read(kBeat, with, -3000).alert, -3000);
}

TEST_F(MonitorCallTest, Job16AFileMonitorIsParsed) {
  const InfoList with = {{PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(7)},
                         {PMIX_MONITOR_FILE_DROPS, Value::Uint32(1)},
                         {PMIX_MONITOR_FILE_SIZE, Value::Bool(true)},
                         {PMIX_MONITOR_FILE_ACCESS, Value::Bool(false)}};
  const MonitorCall call = Read(kFile, with);
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(call.kind, Kind::kFile);
  EXPECT_EQ(call.alert, PMIX_MONITOR_FILE_ALERT);
  EXPECT_EQ(call.path, "/file");
  EXPECT_TRUE(call.size);
  EXPECT_FALSE(call.accessed || call.modified);
  EXPECT_EQ(call.seconds, 7u);
  EXPECT_EQ(call.drops, 1u);
}

TEST_F(MonitorCallTest, Job17ACancelNamesOneMonitorOrAll) {
  EXPECT_EQ(Read({{PMIX_MONITOR_CANCEL, Value::String("id")}}, {}).id, "id");
  EXPECT_EQ(status_, kSuccess);
  const MonitorCall all = Read({{PMIX_MONITOR_CANCEL, Value()}}, {});
  EXPECT_EQ(all.kind, Kind::kCancel);
  EXPECT_EQ(all.id, "");
}

TEST_F(MonitorCallTest, Job19AHeartbeatIsParsed) {
  const MonitorCall call = Read({{PMIX_SEND_HEARTBEAT, Value()}}, {});
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(call.kind, Kind::kBeat);
}

TEST_F(MonitorCallTest, InvalidMonitorsAreRejected) {
  const InfoList size = {{PMIX_MONITOR_FILE_SIZE, Value::Bool(true)}};
  InfoList timed = size;
  timed.Add(PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(1));
  const std::string too_long = "/" + std::string(kMaxPath, 'x');
  const std::vector<std::pair<InfoList, InfoList>> bad = {
      {kBeat, {}},
      {kBeat, {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(0)}}},
      {kBeat, {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint64(1ull << 32)}}},
      {kBeat, {{PMIX_MONITOR_HEARTBEAT_TIME, Value::String("x")}}},
      {kFile, {{PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(1)}}},
      {kFile, size},
      {{{PMIX_MONITOR_FILE, Value::String("relative")}}, timed},
      {{{PMIX_MONITOR_FILE, Value::String("")}}, timed},
      {{{PMIX_MONITOR_FILE, Value::String(too_long)}}, timed}};
  for (const auto& [what, with] : bad) {
    Read(what, with);
    EXPECT_EQ(status_, kErrBadParam);
  }
}

TEST_F(MonitorCallTest, UnknownMonitorsAndDirectivesAreNotSupported) {
  Read({{"other", Value::Bool(true)}}, {});
  EXPECT_EQ(status_, kErrNotSupported);
  Read({{PMIX_MONITOR_FILE, Value::Int(3)}}, {});
  EXPECT_EQ(status_, kErrNotSupported);
  InfoList with = {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(5)}};
  with.Add("other", Value::Bool(true), PMIX_INFO_REQD);
  Read(kBeat, with);
  EXPECT_EQ(status_, kErrNotSupported);
}

TEST_F(MonitorCallTest, AUsageMonitorIsParsed) {
  const InfoList what = {{PMIX_MONITOR_NODE_RESOURCE_USAGE, Value()}};
  const MonitorCall once = Read(what, {});
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(once.kind, Kind::kUsage);
  EXPECT_EQ(once.seconds, 0u);
  EXPECT_EQ(once.alert, PMIX_MONITOR_RESUSAGE_UPDATE);
  EXPECT_TRUE(once.usage.fields.of_node());
  InfoList with = {{PMIX_MONITOR_ID, Value::String("id")}};
  with.Add(PMIX_MONITOR_RESOURCE_RATE, Value::Uint32(3), PMIX_INFO_REQD);
  with.Add(PMIX_MONITOR_LOCAL_ONLY, Value::Bool(true), PMIX_INFO_REQD);
  const MonitorCall often = Read(what, with, -3000);
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(often.seconds, 3u);
  EXPECT_EQ(often.id, "id");
  EXPECT_EQ(often.alert, -3000);
  EXPECT_TRUE(often.usage.targets.local_only);
  Read(what, {{PMIX_MONITOR_RESOURCE_RATE, Value::String("x")}});
  EXPECT_EQ(status_, kErrBadParam);
  Read({{PMIX_MONITOR_NODE_RESOURCE_USAGE, Value::Int(1)}}, {});
  EXPECT_EQ(status_, kErrBadParam);
}

// A required directive that has no effect must not be accepted.
TEST_F(MonitorCallTest,
       RequiredDirectivesWithoutEffectOnTheMonitorAreNotSupported) {
  const InfoList usage = {{PMIX_MONITOR_NODE_RESOURCE_USAGE, Value()}};
  InfoList beat = {{PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(5)}};
  beat.Add(PMIX_MONITOR_LOCAL_ONLY, Value::Bool(true));
  Read(kBeat, beat);
  EXPECT_EQ(status_, kSuccess);
  beat.Add(PMIX_MONITOR_RESOURCE_RATE, Value::Uint32(1), PMIX_INFO_REQD);
  Read(kBeat, beat);
  EXPECT_EQ(status_, kErrNotSupported);
  InfoList with;
  with.Add(PMIX_MONITOR_HEARTBEAT_TIME, Value::Uint32(5), PMIX_INFO_REQD);
  Read(usage, with);
  EXPECT_EQ(status_, kErrNotSupported);
}

TEST_F(MonitorCallTest, MalformedCallsAreRejected) {
  Read({}, {});
  EXPECT_EQ(status_, kErrUnpackFailure);
  Read({{"a", Value()}, {"b", Value()}}, {});
  EXPECT_EQ(status_, kErrUnpackFailure);
  EXPECT_EQ(ReadMonitorCall({"job", 1}, "\xff\xff", &directives_).code(),
            kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::monitor
