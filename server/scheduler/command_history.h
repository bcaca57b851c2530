// Which commands of the scheduler were executed, so that none is twice.
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
#include "protos/host_module.pb.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// The results of the newest kMaxCommands, for kMaxAgeMs. Those that are kept
// outlive this process. Times are milliseconds since 1970, `now`. Loop thread
// only.
class CommandHistory {
 public:
  static constexpr size_t kMaxCommands = 1024;
  static constexpr int64_t kMaxAgeMs = int64_t{24} * 3600 * 1000;

  struct Known {
    bool done = false;         // else it is under way
    std::string request;       // of the job that it launches; or empty
    v1::CommandResult result;  // when it is done
    int64_t at_ms = 0;
  };
  using Warn = std::function<void(const std::string& text)>;

  explicit CommandHistory(Warn warn) : warn_(std::move(warn)) {}
  CommandHistory(const CommandHistory&) = delete;
  CommandHistory& operator=(const CommandHistory&) = delete;

  // What a predecessor has left comes first; what follows is stored. Returns
  // the names of those that it had begun and not ended.
  std::vector<std::string> SetStore(ReportStore* store,
                                    const std::vector<std::string>& stored,
                                    int64_t now);

  // Null: not known, or forgotten. Valid until the next call.
  const Known* Find(const std::string& id, int64_t now) const;
  // Before it is executed, where it matters that it is not done again.
  // `request`: of the job that it launches.
  void Begin(const std::string& id, const std::string& request, int64_t now);
  // It was not executed.
  void Forget(const std::string& id);
  // `keep`: for a successor too.
  void End(v1::CommandResult result, bool keep, int64_t now);

 private:
  Known* Add(const std::string& id);
  void Take(const std::string& entry, int64_t now);
  void Store(const std::string& id, const Known& known);

  const Warn warn_;
  ReportStore* store_ = nullptr;
  bool warned_ = false;
  std::map<std::string, Known> known_;
  std::deque<std::string> order_;  // in which they came
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_COMMAND_HISTORY_H_
