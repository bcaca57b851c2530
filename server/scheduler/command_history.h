// Records the commands of the scheduler that were executed, so that no command
// is executed twice.
#ifndef CANOPY_SERVER_SCHEDULER_COMMAND_HISTORY_H_
#define CANOPY_SERVER_SCHEDULER_COMMAND_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// Keeps the results of the newest kMaxCommands for kMaxAgeMs. Stored results
// outlive this process. All times, including `now`, are milliseconds since
// 1970. Loop thread only.
class CommandHistory {
 public:
  static constexpr size_t kMaxCommands = 1024;
  static constexpr int64_t kMaxAgeMs = int64_t{24} * 3600 * 1000;

  struct Known {
    bool done = false;         // false: the command is being executed
    std::string request;       // for the job that it launches, or empty
    v1::CommandResult result;  // valid if `done`
    int64_t at_ms = 0;
  };
  using Warn = std::function<void(const std::string& text)>;

  explicit CommandHistory(Warn warn) : warn_(std::move(warn)) {}
  CommandHistory(const CommandHistory&) = delete;
  CommandHistory& operator=(const CommandHistory&) = delete;

  // Adds a predecessor's entries before the present ones, and stores changes
  // from now on. Returns the identifiers of the commands that the predecessor
  // had begun and not ended.
  std::vector<std::string> SetStore(ReportStore* store,
                                    const std::vector<std::string>& stored,
                                    int64_t now);

  // Returns the command, or null if it is unknown or was forgotten. Valid until
  // the next call.
  const Known* Find(const std::string& id, int64_t now) const;
  // Records that the command begins. Called before commands that must not be
  // repeated. `request` is the name of the request for the job that the command
  // launches.
  void Begin(const std::string& id, const std::string& request, int64_t now);
  // Removes a command that was not executed.
  void Forget(const std::string& id);
  // Records the result. If `keep` is true, the result is also stored for a
  // successor.
  void End(v1::CommandResult result, bool keep, int64_t now);

 private:
  Known* Add(const std::string& id);
  void Take(const std::string& entry, int64_t now);
  void Store(const std::string& id, const Known& known);

  const Warn warn_;
  ReportStore* store_ = nullptr;
  bool warned_ = false;
  std::map<std::string, Known> known_;
  std::deque<std::string> order_;  // in the order of their arrival
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_COMMAND_HISTORY_H_
