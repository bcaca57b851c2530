// Starts the processes of a job on this node.
#ifndef CANOPY_SERVER_SHIM_PROCESS_STARTER_H_
#define CANOPY_SERVER_SHIM_PROCESS_STARTER_H_

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/shim/environment.h"
#include "server/shim/input_feed.h"
#include "server/shim/output_pump.h"
#include "server/shim/program.h"
#include "server/shim/protocol.h"
#include "server/shim/rank_usage.h"
#include "server/shim/spawn.h"

namespace canopy::process {

// One process of the job, in all phases of its life.
struct LocalProcess {
  RankSpec spec;
  // The process inherits these descriptors. The shim closes its own ones after
  // the start of the process.
  std::vector<UniqueFd> fds;
  RankPhase phase = RankPhase::kWaiting;
  pid_t pid = 0;
  int wait_status = 0;
  bool reportable = false;   // the process has ended and can be reported
  uint32_t incarnation = 0;  // number of earlier processes of the rank
  // The usage of the rank's earlier processes and, after its end, of this
  // process.
  RankUsage used;
};

// Used by the loop's thread only.
class ProcessStarter {
 public:
  // `nofile` is the RLIMIT_NOFILE of the processes.
  ProcessStarter(PrepareJob job, rlimit nofile);

  // Finds the program of every application and checks the request as far as
  // possible. Start may follow only a successful Check. A program that cannot
  // use Canopy's libpmix keeps its own.
  Prepared Check(const std::vector<LocalProcess>& processes);

  // Returns true if the job is to be ended. Called on this thread before each
  // process.
  using Stopped = std::function<bool()>;

  // Starts all processes, on several CPUs in parallel, and passes their pipes
  // to `pump` and `feed`. Sets pid and phase. A process that cannot be started
  // becomes kEnded with the wait status of exit code 127 (program or directory
  // not found) or 126. Once `stopped` returns true, no further process is
  // started; the remaining ones become kEnded as if killed by SIGKILL, which is
  // not an error.
  Started Start(std::vector<LocalProcess>* processes, const Stopped& stopped,
                OutputPump* pump, InputFeed* feed);
  // Starts another process of a rank whose last process has ended. Otherwise
  // like Start.
  Started StartAgain(LocalProcess* process, OutputPump* pump, InputFeed* feed);

  const PrepareJob& job() const { return job_; }

 private:
  struct App {
    std::string path;
    Environment env;
    std::vector<char*> argv;
  };
  // The result of starting a process, and the shim's ends of its pipes. If the
  // process has a terminal, `in` and `out` are the terminal.
  struct Outcome {
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
    SpawnResult result;
    bool is_terminal = false;
  };
  // The process's ends of its pipes, or its terminal.
  struct ProcessEnds {
    UniqueFd in;  // empty: /dev/null
    UniqueFd out;
    UniqueFd err;  // empty: `out`
  };

  Status CheckPlacement(const std::vector<LocalProcess>& processes);
  Status CheckUser();
  void MakeApps();
  std::vector<ProgramQuery> Queries() const;
  Prepared FindPrograms();
  bool StopsOnExec(Rank rank) const;
  // Returns the size of the terminal that the process is to have, if any.
  std::optional<PtySize> TerminalOf(const LocalProcess& process) const;
  // Return false and set errno on failure. Any thread.
  bool MakePipes(const LocalProcess& process, Outcome* outcome,
                 ProcessEnds* ends) const;
  bool MakeTerminal(const PtySize& size, Outcome* outcome,
                    ProcessEnds* ends) const;
  // May be called on any thread, for different processes.
  Outcome StartOne(const LocalProcess& process) const;
  // Returns an outcome for each process whose start was attempted.
  std::vector<std::optional<Outcome>> StartAll(
      const std::vector<LocalProcess>& processes, const Stopped& stopped) const;
  void AddStreams(Rank rank, UniqueFd out, UniqueFd err,
                  OutputPump* pump) const;
  void Adopt(Outcome outcome, LocalProcess* process, OutputPump* pump,
             InputFeed* feed, Started* started) const;
  StartError Failed(LocalProcess* process, const SpawnResult& result) const;

  const PrepareJob job_;
  const rlimit nofile_;
  std::vector<App> apps_;
  UniqueFd null_;
  std::unique_ptr<Credentials> credentials_;  // null: the shim's own
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_STARTER_H_
