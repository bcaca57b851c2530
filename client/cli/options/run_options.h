// The parsed command line of `canopy run` (and mpirun, mpiexec, prterun).
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
  std::vector<std::string> argv;  // the program and its arguments
  std::vector<std::string> env;   // NAME=VALUE of -x, --mca and --path
  std::string cwd;                // as typed; empty: the caller's
  uint32_t num_procs = 0;         // 0: one for each slot
  std::vector<Host> hosts;
  bool preload_program = false;  // copy the program to the nodes
  std::string preload_files;     // copy these files, separated by commas
  std::string pset;              // name of a process set of its processes
};

struct RunOptions {
  // Empty if a tool has started this launcher and spawns its jobs itself.
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
  // Number of restarts of each rank whose process fails; UINT32_MAX: no limit.
  uint32_t max_restarts = 0;
  bool recoverable = false;  // processes that fail do not end the job
  bool index_argv = false;   // argv[0] of a process is NAME-RANK
  // Where ranks stop for a debugger; `stop_ranks` lists the ranks that do
  // (empty: all).
  bool stop_on_exec = false;
  bool stop_in_init = false;
  bool stop_in_app = false;
  std::vector<uint32_t> stop_ranks;
  // Set by a command instead of an option: the processes are debugger daemons
  // of a job.
  std::optional<DebugDaemons> daemons;
  std::string cpu_list;      // usable CPUs of each node; empty: all
  std::string stdin_target;  // "all", "none" or a rank; empty: rank 0
  std::string inject;        // "auto", "always", "never"; empty: auto
  bool torch_env = false;    // set the variables of torch.distributed
  bool allow_run_as_root = false;
  bool do_not_launch = false;
  bool detach = false;  // the launcher continues in the background

  bool report_bindings = false;
  bool display_map = false;
  bool display_allocation = false;
  bool tag_output = false;
  bool timestamp_output = false;
  bool merge_stderr = false;
  std::string output_directory;     // empty: no files
  bool only_to_files = false;       // write output to the files only
  bool job_below_directory = true;  // DIR/NSPACE/rank.N, else DIR/rank.N
  // File of all output, in place of the standard streams; %j stands for the
  // job's name, and %r for the rank. Empty: none.
  std::string output_file;
  bool verbose = false;
  bool quiet = false;
  bool json = false;

  bool as_mpirun = false;  // called by one of mpirun's names
  // The number of nodes to use, of those that there are; 0: all. Hosts of the
  // applications are limited to it already, and it is 0 then.
  uint32_t nodes = 0;
  uint32_t emulate = 0;  // number of emulated nodes; 0: not requested
  std::string context;
  AgentOptions agents;  // options of the agents that are started for the job

  bool help = false;
  bool version = false;
  std::vector<std::string> warnings;  // one line each

  // True if each rank has an output file of its own.
  bool has_rank_files() const {
    return output_file.find("%r") != std::string::npos;
  }
  // True for a detached job with a stdin target: it gets its input from `canopy
  // attach`.
  bool input_is_pushed() const {
    return detach && !stdin_target.empty() && stdin_target != "none";
  }
};

// Parses `args`, the words after the command's name, and reads the hostfiles
// and app files that they name. The error (kErrBadParam and others) is one line
// for the user. With `help` or `version` nothing else is checked. A program is
// optional if the environment has PMIX_LAUNCHER_RNDZ_FILE. `as_mpirun`: the
// command was called by one of mpirun's names, and -c is the number of
// processes.
Result<RunOptions> ParseRunOptions(std::span<const std::string> args,
                                   const Environment& environment,
                                   bool as_mpirun = false);

// Returns the text of `canopy run --help` about the options.
std::string RunOptionHelp();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_
