// PMIx_Log of processes that use Canopy's library.
#ifndef CANOPY_SERVER_LOG_LOG_SERVICE_H_
#define CANOPY_SERVER_LOG_LOG_SERVICE_H_

#include <ctime>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/host.h"
#include "server/core/step/log_line.h"
#include "server/host/embedded_host.h"
#include "server/log/log_run.h"

namespace canopy::log {

struct LogServiceOptions {
  LogPlaces places;
  std::function<time_t()> now;  // empty: the system's clock
  std::function<void(const core::LogLine&)> log;
};

// Loop thread only.
class LogService {
 public:
  explicit LogService(LogServiceOptions options)
      : options_(std::move(options)) {}

  // Logs the texts of a request and calls `done` once, possibly within the
  // call. A text that is resent to a successor of this agent is not printed
  // twice if the caller has numbered it (kLogNumber).
  void Log(const core::AskHost& request,
           const host::EmbeddedHost::Answer& done);

 private:
  void LogIgnored(const ProcId& caller, const std::vector<std::string>& keys);

  const LogServiceOptions options_;
  std::set<std::string> ignored_;  // keys that the agent's log has mentioned
};

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_LOG_SERVICE_H_
