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
  std::vector<UniqueFd> fds;  // to inherit; closed here once it is started
  RankPhase phase = RankPhase::kWaiting;
  pid_t pid = 0;
  int wait_status = 0;
  bool reportable = false;   // ended, and may be reported
  uint32_t incarnation = 0;  // how many processes the rank had before it
  RankUsage used;            // of those that have ended, with those before it
};

// Loop thread only.
class ProcessStarter {
 public:
  // nofile: what the processes get as RLIMIT_NOFILE.
  ProcessStarter(PrepareJob job, rlimit nofile);

  // Finds every application's program and checks what can be checked before
  // Start, which may only follow a success. A program that can not use Canopy's
  // libpmix gets its own.
  Prepared Check(const std::vector<LocalProcess>& processes);

  // Whether the job is to be ended; asked in this thread before each process.
  using Stopped = std::function<bool()>;

  // Starts all processes, on several CPUs at once, and hands their pipes over.
  // Fills pid and phase; a process that can not be started is kEnded with the
  // wait status of exit code 127 (program or directory not there) or 126. From
  // the moment at which `stopped` is true no other is started: what is left is
  // kEnded as if it had been killed by SIGKILL, which is no error.
  Started Start(std::vector<LocalProcess>* processes, const Stopped& stopped,
                OutputPump* pump, InputFeed* feed);
  // The same of one process, whose rank had others before.
  Started StartAgain(LocalProcess* process, OutputPump* pump, InputFeed* feed);

  const PrepareJob& job() const { return job_; }

 private:
  struct App {
    std::string path;
    Environment env;
    std::vector<char*> argv;
  };
  // The shim's ends of a process's pipes, and whether there is a process.
  struct Outcome {
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
    SpawnResult result;
  };

  Status CheckPlacement(const std::vector<LocalProcess>& processes);
  Status CheckUser();
  void MakeApps();
  std::vector<ProgramQuery> Queries() const;
  Prepared FindPrograms();
  bool StopsOnExec(Rank rank) const;
  // From any thread, for different processes.
  Outcome StartOne(const LocalProcess& process) const;
  // One for each process that was started or could not be.
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
