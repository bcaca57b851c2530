// MPIR, version 1.0: how debuggers that know nothing else find the processes of
// a launcher. They trace it, set its variables, and stop it in MPIR_Breakpoint.
#ifndef CANOPY_CLIENT_CLI_RUN_MPIR_H_
#define CANOPY_CLIENT_CLI_RUN_MPIR_H_

#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/mutex.h"

namespace canopy::cli {

// A debugger that has started this program has said so: the job is to stop
// before its processes do anything.
bool IsTraced();

struct MpirProcess {
  std::string host;
  std::string program;
  int pid = 0;
};
// What `canopy-tool table` prints: "RANK TAB PID TAB HOST TAB PROGRAM" for each
// process, in the order of the ranks. No value: malformed, or one does not run.
std::optional<std::vector<MpirProcess>> ReadProcessTable(std::string_view text);

// Fills the table in a thread of its own, of a job that runs. Of one that no
// debugger waits for it does so after a second, so that what is over by then
// costs nothing. Thread-safe.
class MpirTable {
 public:
  // `directories`: runtime directories of agents, those of other machines too.
  explicit MpirTable(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}
  // The job is over.
  ~MpirTable();
  MpirTable(const MpirTable&) = delete;
  MpirTable& operator=(const MpirTable&) = delete;

  // All processes of the job run, or are stopped at their exec. Once.
  void OnRunning(const std::string& nspace);

 private:
  void Run(const std::string& nspace);
  bool WaitUntilWorthIt();

  const std::vector<std::string> directories_;
  Mutex mu_;
  CondVar changed_;
  bool over_ CANOPY_GUARDED_BY(mu_) = false;
  std::thread thread_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_MPIR_H_
