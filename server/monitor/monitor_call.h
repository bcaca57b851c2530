// What a call of PMIx_Process_monitor asks for.
#ifndef CANOPY_SERVER_MONITOR_MONITOR_CALL_H_
#define CANOPY_SERVER_MONITOR_MONITOR_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "server/host/directives.h"

namespace canopy::monitor {

inline constexpr size_t kMaxPath = 4096;
inline constexpr size_t kMaxMonitorId = 256;

enum class Kind : uint8_t { kBeat, kCancel, kHeartbeat, kFile };

struct MonitorCall {
  Kind kind = Kind::kBeat;
  // Of the monitor that begins, or of what is to be cancelled; empty: it has
  // none, all of the caller.
  std::string id;
  // Of one that begins.
  int alert = 0;         // code of the event
  uint32_t seconds = 0;  // between two looks, at least 1
  uint32_t drops = 0;    // looks in vain that are tolerated
  std::string path;      // of kFile, absolute
  bool size = false;     // of kFile: what has to change
  bool accessed = false;
  bool modified = false;
};

// `call` is the form of common/local_protocol.h. kErrBadParam for what makes no
// sense, kErrNotSupported for what is not monitored here and for required
// directives that are not among `directives`.
Result<MonitorCall> ReadMonitorCall(const ProcId& caller, std::string_view call,
                                    host::Directives* directives);

// With the keys that are honoured.
host::Directives MonitorDirectives(host::Directives::Log log);

}  // namespace canopy::monitor

#endif  // CANOPY_SERVER_MONITOR_MONITOR_CALL_H_
