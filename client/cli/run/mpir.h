// MPIR, version 1.0: the interface by which older debuggers find the processes
// of a launcher. The debugger traces the launcher, sets its variables, and
// stops it in MPIR_Breakpoint.
#ifndef CANOPY_CLIENT_CLI_RUN_MPIR_H_
#define CANOPY_CLIENT_CLI_RUN_MPIR_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/mutex.h"

namespace canopy::cli {

// Returns true if a debugger has started this program. The job must then stop
// before its processes execute anything.
bool IsTraced();

struct MpirProcess {
  std::string host;
  std::string program;
  int pid = 0;
};
// Parses the output of `canopy-tool table`: "RANK TAB PID TAB HOST TAB PROGRAM"
// for each process, in the order of the ranks. Returns no value if the text is
// malformed or a process does not run.
std::optional<std::vector<MpirProcess>> ReadProcessTable(std::string_view text);

// Fills the process table of MPIR for a running job, in a thread of its own. If
// no debugger waits, it does so only after a second, so that short jobs have no
// cost. Thread-safe.
class MpirTable {
 public:
  // `directories` are the runtime directories of agents, including agents of
  // other machines.
  explicit MpirTable(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}
  // Stops the thread, because the job is over.
  ~MpirTable();
  MpirTable(const MpirTable&) = delete;
  MpirTable& operator=(const MpirTable&) = delete;

  // Called when all processes of the job run or are stopped at their exec.
  // Further calls have no effect.
  void OnRunning(const std::string& nspace);
  // Starts to fill the table when this is due. Returns the time until the next
  // call in milliseconds, or -1 if there is nothing to do before OnRunning.
  int OnTick();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kNew, kRunning, kFilling, kOver };

  void Fill(const std::string& nspace) const;

  const std::vector<std::string> directories_;
  Mutex mu_;
  State state_ CANOPY_GUARDED_BY(mu_) = State::kNew;
  std::string nspace_ CANOPY_GUARDED_BY(mu_);
  Clock::time_point due_ CANOPY_GUARDED_BY(mu_);
  std::thread thread_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_MPIR_H_
