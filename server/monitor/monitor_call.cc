#include "server/monitor/monitor_call.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::monitor {
namespace {

// The directives of monitors that check something, and of monitors of resource
// usage.
constexpr std::string_view kOfChecks[] = {
    PMIX_MONITOR_HEARTBEAT_TIME, PMIX_MONITOR_HEARTBEAT_DROPS,
    PMIX_MONITOR_FILE_SIZE,      PMIX_MONITOR_FILE_ACCESS,
    PMIX_MONITOR_FILE_MODIFY,    PMIX_MONITOR_FILE_CHECK_TIME,
    PMIX_MONITOR_FILE_DROPS};
constexpr std::string_view kOfUsage[] = {
    PMIX_MONITOR_RESOURCE_RATE,  PMIX_MONITOR_TARGET_PROCS,
    PMIX_MONITOR_TARGET_PIDS,    PMIX_MONITOR_TARGET_NODES,
    PMIX_MONITOR_TARGET_NODEIDS, PMIX_MONITOR_TARGET_DISKS,
    PMIX_MONITOR_TARGET_NETS,    PMIX_MONITOR_LOCAL_ONLY};

// One call as it was received.
struct Parts {
  InfoList what;  // one info
  int error = 0;
  InfoList directives;
};

std::optional<Parts> Read(std::string_view call) {
  host_call::Monitor monitor;
  Parts parts;
  if (!wire::Decode(call, &monitor) ||
      !DecodeInfos(monitor.what, &parts.what) || parts.what.size() != 1 ||
      !DecodeInfos(monitor.infos, &parts.directives)) {
    return std::nullopt;
  }
  parts.error = monitor.error;
  return parts;
}

Status Bad(const std::string& text) { return Status(kErrBadParam, text); }

bool TakeNumber(const InfoList& infos, const char* key, uint32_t* number) {
  if (!infos.Has(key)) return true;
  const auto value = infos.FindUint(key);
  if (!value || *value > UINT32_MAX) return false;
  *number = static_cast<uint32_t>(*value);
  return true;
}

bool Flag(const InfoList& infos, const char* key) {
  return infos.FindBool(key).value_or(false);
}

Status TakeId(const Parts& parts, int alert, MonitorCall* call) {
  call->alert = parts.error == 0 ? alert : parts.error;
  call->id = parts.directives.FindString(PMIX_MONITOR_ID).value_or("");
  return call->id.size() > kMaxMonitorId
             ? Bad("the id of a monitor is too long")
             : Status();
}

// Reads the parts that heartbeat and file monitors have in common.
Status TakeCommon(const Parts& parts, const char* time, const char* drops,
                  int alert, MonitorCall* call) {
  Status status = TakeId(parts, alert, call);
  if (!status.ok()) return status;
  if (!TakeNumber(parts.directives, time, &call->seconds) ||
      !TakeNumber(parts.directives, drops, &call->drops)) {
    return Bad("a value of a monitor is not a number");
  }
  return call->seconds == 0 ? Bad("a monitor has no time") : Status();
}

Status TakeHeartbeat(const Parts& parts, MonitorCall* call) {
  call->kind = Kind::kHeartbeat;
  return TakeCommon(parts, PMIX_MONITOR_HEARTBEAT_TIME,
                    PMIX_MONITOR_HEARTBEAT_DROPS, PMIX_MONITOR_HEARTBEAT_ALERT,
                    call);
}

Status TakeFile(const Parts& parts, MonitorCall* call) {
  call->kind = Kind::kFile;
  call->path = StringOf(parts.what[0].value).value_or("");
  call->size = Flag(parts.directives, PMIX_MONITOR_FILE_SIZE);
  call->accessed = Flag(parts.directives, PMIX_MONITOR_FILE_ACCESS);
  call->modified = Flag(parts.directives, PMIX_MONITOR_FILE_MODIFY);
  if (call->path.empty() || call->path[0] != '/' ||
      call->path.size() > kMaxPath) {
    return Bad("a monitored file has no absolute path");
  }
  if (!call->size && !call->accessed && !call->modified) {
    return Bad("a monitor of a file names nothing that has to change");
  }
  return TakeCommon(parts, PMIX_MONITOR_FILE_CHECK_TIME,
                    PMIX_MONITOR_FILE_DROPS, PMIX_MONITOR_FILE_ALERT, call);
}

Status TakeUsage(const Parts& parts, MonitorCall* call) {
  call->kind = Kind::kUsage;
  Status status = TakeId(parts, PMIX_MONITOR_RESUSAGE_UPDATE, call);
  if (!status.ok()) return status;
  if (!TakeNumber(parts.directives, PMIX_MONITOR_RESOURCE_RATE,
                  &call->seconds)) {
    return Bad("the rate of a monitor is not a number");
  }
  Result<UsageCall> usage = ReadUsageCall(parts.what[0], parts.directives);
  if (usage.ok()) call->usage = *std::move(usage);
  return usage.status();
}

Status Take(const Parts& parts, MonitorCall* call) {
  const std::string_view key = KeyOf(parts.what[0]);
  if (key == PMIX_MONITOR_HEARTBEAT) return TakeHeartbeat(parts, call);
  if (key == PMIX_MONITOR_FILE && parts.what[0].value.type == PMIX_STRING) {
    return TakeFile(parts, call);
  }
  if (IsOfUsage(key)) return TakeUsage(parts, call);
  if (key == PMIX_SEND_HEARTBEAT) return Status();
  if (key != PMIX_MONITOR_CANCEL) {
    return Status(kErrNotSupported, "nothing of that name is monitored");
  }
  call->kind = Kind::kCancel;
  call->id = StringOf(parts.what[0].value).value_or("");
  return Status();
}

// Returns false if a required directive applies only to monitors of the other
// kind.
bool FitsKind(const ProcId& caller, const Parts& parts,
              host::Directives* directives) {
  const bool of_usage = IsOfUsage(KeyOf(parts.what[0]));
  std::span<const std::string_view> others = kOfUsage;
  if (of_usage) others = kOfChecks;
  return std::ranges::all_of(parts.directives, [&](const pmix_info_t& info) {
    return std::ranges::count(others, KeyOf(info)) == 0 ||
           directives->Refuse(caller, info);
  });
}

}  // namespace

Result<MonitorCall> ReadMonitorCall(const ProcId& caller, std::string_view call,
                                    host::Directives* directives) {
  const std::optional<Parts> parts = Read(call);
  if (!parts) return Status(kErrUnpackFailure, "malformed call of a monitor");
  if (!directives->Check(caller, parts->directives) ||
      !FitsKind(caller, *parts, directives)) {
    return Status(kErrNotSupported, "a directive that is not honoured");
  }
  MonitorCall read;
  Status status = Take(*parts, &read);
  if (!status.ok()) return status;
  return read;
}

host::Directives MonitorDirectives(host::Directives::Log log) {
  // PMIX_MONITOR_APP_CONTROL has no effect, because the receiver of the alert
  // always decides what follows. The user in the directives has no effect,
  // because the agent knows the caller's user.
  return {"PMIx_Process_monitor",
          {PMIX_MONITOR_ID, PMIX_MONITOR_APP_CONTROL,
           PMIX_MONITOR_HEARTBEAT_TIME, PMIX_MONITOR_HEARTBEAT_DROPS,
           PMIX_MONITOR_FILE_SIZE, PMIX_MONITOR_FILE_ACCESS,
           PMIX_MONITOR_FILE_MODIFY, PMIX_MONITOR_FILE_CHECK_TIME,
           PMIX_MONITOR_FILE_DROPS, PMIX_MONITOR_RESOURCE_RATE,
           PMIX_MONITOR_TARGET_PROCS, PMIX_MONITOR_TARGET_PIDS,
           PMIX_MONITOR_TARGET_NODES, PMIX_MONITOR_TARGET_NODEIDS,
           PMIX_MONITOR_TARGET_DISKS, PMIX_MONITOR_TARGET_NETS,
           PMIX_MONITOR_LOCAL_ONLY, PMIX_USERID, PMIX_GRPID},
          std::move(log)};
}

}  // namespace canopy::monitor
