// The parsed command line of `canopy run` (and mpirun, mpiexec, prterun).
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/cli/options/agent_options.h"
#include "client/cli/options/job_variables.h"
#include "common/job_request.h"
#include "common/status.h"

namespace canopy::cli {

struct RunOptions {
  // The request for the job, as far as the command line states it. There are no
  // applications if a tool has started this launcher and spawns its jobs
  // itself. Paths are as typed; an application's `env` contains the variables
  // of -x, --mca and --path.
  JobRequest job;
  bool stdin_given = false;  // --stdin was given, even as "none"
  // The places where ranks stop for a debugger. `stop_ranks` lists the ranks
  // that stop (empty: all).
  bool stop_on_exec = false;
  bool stop_in_init = false;
  bool stop_in_app = false;
  std::vector<uint32_t> stop_ranks;
  bool allow_run_as_root = false;
  bool do_not_launch = false;
  bool detach = false;  // the launcher continues in the background
  bool pty = false;     // rank 0 has a terminal

  bool report_bindings = false;
  bool display_map = false;
  bool display_allocation = false;
  bool display_topology = false;
  bool tag_output = false;
  bool timestamp_output = false;
  bool xml_output = false;
  std::string output_directory;     // empty: no files
  bool only_to_files = false;       // write output to the files only
  bool job_below_directory = true;  // DIR/NSPACE/rank.N, else DIR/rank.N
  // The file of all output, in place of the standard streams; %j stands for the
  // job's name, and %r for the rank. Empty: none.
  std::string output_file;
  bool verbose = false;
  bool quiet = false;
  bool json = false;
  std::string json_file;  // for the JSON document; empty: none

  bool as_mpirun = false;  // called by one of mpirun's names
  // The number of nodes to use; 0: all. It is 0 if applications name hosts,
  // because these hosts have already been limited to the requested number.
  uint32_t nodes = 0;
  bool allow_missing = false;  // continue with the hosts that answer
  uint32_t emulate = 0;        // number of emulated nodes; 0: not requested
  std::string context;
  AgentOptions agents;  // options of the agents that are started for the job

  bool help = false;
  bool version = false;
  std::vector<std::string> warnings;  // one line each

  // True if each rank has an output file of its own.
  bool has_rank_files() const {
    return output_file.find("%r") != std::string::npos;
  }
  // True if no process of the job writes to this process's standard output.
  bool standard_output_is_free() const {
    return do_not_launch || (!output_file.empty() && !has_rank_files()) ||
           (!output_directory.empty() && only_to_files);
  }
  bool reads_input() const { return job.stdin_target != StdinTarget::kNone; }
  // True for a detached job with a stdin target, which gets its input from
  // `canopy attach`.
  bool input_is_pushed() const {
    return detach && stdin_given && reads_input();
  }
};

// Parses `args`, the words after the command's name, and reads the hostfiles
// and app files that they name. An error, such as kErrBadParam, has one line
// for the user. With --help or --version nothing else is checked. A program is
// optional if the environment has PMIX_LAUNCHER_RNDZ_FILE. `as_mpirun` is true
// if the command was called by one of mpirun's names; -c is then the number of
// processes.
Result<RunOptions> ParseRunOptions(std::span<const std::string> args,
                                   const Environment& environment,
                                   bool as_mpirun = false);

// Returns the part of the text of `canopy run --help` that describes the
// options.
std::string RunOptionHelp();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTIONS_H_
