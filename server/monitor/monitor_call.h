// Parses a call of PMIx_Process_monitor.
#ifndef CANOPY_SERVER_MONITOR_MONITOR_CALL_H_
#define CANOPY_SERVER_MONITOR_MONITOR_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "server/host/directives.h"
#include "server/monitor/usage_call.h"

namespace canopy::monitor {

inline constexpr size_t kMaxPath = 4096;
inline constexpr size_t kMaxMonitorId = 256;

enum class Kind : uint8_t { kBeat, kCancel, kHeartbeat, kFile, kUsage };

struct MonitorCall {
  Kind kind = Kind::kBeat;
  // The identifier of the new monitor, or of the monitor to cancel. Empty: the
  // new monitor has no identifier, or all monitors of the caller are cancelled.
  std::string id;
  // The following fields are set for a new monitor.
  int alert = 0;  // code of the event
  // Seconds between two checks or samples, at least 1. For kUsage, 0 requests
  // one sample.
  uint32_t seconds = 0;
  uint32_t drops = 0;  // number of consecutive failed checks that are tolerated
  std::string path;    // kFile: absolute path
  bool size = false;   // kFile: the properties that have to change
  bool accessed = false;
  bool modified = false;
  UsageCall usage = {};  // kUsage
};

// Parses `call`, an encoded host_call::Monitor. Returns kErrUnpackFailure for
// malformed bytes, kErrBadParam for an invalid call, kErrOutOfResource for too
// many targets, and kErrNotSupported for a monitor that is not implemented and
// for a required directive that is not among `directives` or belongs to another
// kind of monitor.
Result<MonitorCall> ReadMonitorCall(const ProcId& caller, std::string_view call,
                                    host::Directives* directives);

// Returns the directives that are supported.
host::Directives MonitorDirectives(host::Directives::Log log);

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_MONITOR_CALL_H_
