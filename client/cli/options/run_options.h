// What `canopy run` (and mpirun, mpiexec, prterun) was asked for.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/cli/options/agent_options.h"
#include "client/cli/options/job_variables.h"
#include "common/hosts.h"
#include "common/job_debug.h"
#include "common/status.h"

namespace canopy::cli {

// One program of the job: a part between ':' or a line of an app file.
struct AppOptions {
  std::vector<std::string> argv;  // the program and what belongs to it
  std::vector<std::string> env;   // NAME=VALUE of -x, --mca and --path
  std::string cwd;                // as typed; empty: the caller's
  uint32_t num_procs = 0;         // 0: one for each slot
  std::vector<Host> hosts;
  bool preload_program = false;  // it is copied to the nodes
  std::string preload_files;     // so are these; separated by commas
  std::string pset;              // process set of its processes
};

struct RunOptions {
  // None: a tool that has started this launcher spawns its jobs itself.
  std::vector<AppOptions> apps;
  std::vector<std::string> env;  // NAME=VALUE for every program
  std::string map_by;            // mpirun spellings; empty: the default
  std::string rank_by;
  std::string bind_to;
  bool oversubscribe = false;
  bool no_local = false;
  uint32_t timeout_seconds = 0;
  bool states_on_timeout = false;
  bool stacks_on_timeout = false;
  uint32_t kill_grace_seconds = 0;
  // How often each rank whose process fails gets another one; UINT32_MAX:
  // without a limit.
  uint32_t max_restarts = 0;
  bool recoverable = false;  // processes that fail do not end the job
  bool index_argv = false;   // a process's argv[0] is NAME-RANK
  // Where the ranks stop for a debugger, and which; none: all.
  bool stop_on_exec = false;
  bool stop_in_init = false;
  bool stop_in_app = false;
  std::vector<uint32_t> stop_ranks;
  // Not by an option: the processes are debugger daemons of a job.
  std::optional<DebugDaemons> daemons;
  std::string cpu_list;      // CPUs of each node that may be used; empty: all
  std::string stdin_target;  // "all", "none" or a rank; empty: rank 0
  // Programs named without a directory are looked for in the working directory,
  // too, after PATH.
  bool looks_here = false;
  std::string inject;      // "auto", "always", "never"; empty: auto
  bool torch_env = false;  // the variables of torch.distributed
  bool allow_run_as_root = false;
  bool do_not_launch = false;
  bool detach = false;  // the launcher goes on in the background

  bool report_bindings = false;
  bool display_map = false;
  bool display_allocation = false;
  bool tag_output = false;
  bool timestamp_output = false;
  bool merge_stderr = false;
  std::string output_directory;     // empty: no files
  bool only_to_files = false;       // not to our own output as well
  bool job_below_directory = true;  // DIR/NSPACE/rank.N, else DIR/rank.N
  bool verbose = false;
  bool quiet = false;
  bool json = false;

  uint32_t nodes = 0;  // emulate as many nodes; 0: not asked for
  std::string context;
  AgentOptions agents;  // of those that are started for the job

  bool help = false;
  bool version = false;
  std::vector<std::string> warnings;  // one line each

  // Who attaches to the job gives its input: of one in the background that is
  // to have any.
  bool input_is_pushed() const {
    return detach && !stdin_target.empty() && stdin_target != "none";
  }
};

// `args`: after the command's own name. Reads the hostfiles and app files that
// are named. The status (kErrBadParam and others) is one line for the user.
// With `help` or `version` nothing else is checked. Where the environment has a
// PMIX_LAUNCHER_RNDZ_FILE, there need be no program.
Result<RunOptions> ParseRunOptions(std::span<const std::string> args,
                                   const Environment& environment);

// The options, for `canopy run --help`.
std::string RunOptionHelp();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_
