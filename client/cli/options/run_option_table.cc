#include "client/cli/options/run_option_table.h"

#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/options/hostfile.h"
#include "client/cli/options/job_variables.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/options/output_options.h"
#include "common/duration_text.h"
#include "common/name_ranges.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxProcs = 1u << 20;
constexpr uint32_t kMaxTimeLimit = 365u * 24 * 3600;
constexpr uint32_t kMaxGraceSeconds = 3600;
constexpr uint32_t kMaxPriority = 1'000'000'000;
constexpr size_t kMaxHints = 64;
constexpr size_t kMaxHintBytes = 4096;

Status AddHosts(Result<std::vector<Host>> more, JobApp* app) {
  if (!more.ok()) return more.status();
  app->hosts.insert(app->hosts.end(), std::make_move_iterator(more->begin()),
                    std::make_move_iterator(more->end()));
  return Status();
}

// Stores the number of processes. A second number is an error, because it
// contradicts the first, or because the user meant something else, such as
// srun's -c.
Option::Apply SetCount(uint32_t* to) {
  return [to](const TypedOption& typed) {
    if (*to != 0) {
      return Status(kErrBadParam,
                    "option '" + typed.name +
                        "': the number of processes is given twice");
    }
    if (typed.values[0] == "0") {
      return Status(kErrBadParam, "option '" + typed.name +
                                      " 0': a job has at least one process");
    }
    return SetNumber(to, 1, kMaxProcs)(typed);
  };
}

// Stores a policy that contains the number. The text "`before`N`after`"
// replaces the text in `to`, or is appended to it.
Option::Apply SetCounted(std::string* to, const std::string& before,
                         const std::string& after, bool append = false) {
  return [=](const TypedOption& typed) {
    uint32_t n = 0;
    if (Status s = SetNumber(&n, 1, kMaxProcs)(typed); !s.ok()) return s;
    const std::string text = before + std::to_string(n) + after;
    *to = append ? *to + text : text;
    return Status();
  };
}

Option::Apply SetStdin(RunOptions* to) {
  return [to](const TypedOption& typed) {
    const std::string& value = typed.values[0];
    const auto rank = ParseNumber(value, kMaxProcs);
    if (value != "all" && value != "none" && !rank) {
      return WrongValue(typed, "a rank, 'all' or 'none'");
    }
    to->stdin_given = true;
    to->job.stdin_target = value == "all"    ? StdinTarget::kAll
                           : value == "none" ? StdinTarget::kNone
                                             : StdinTarget::kRank;
    to->job.stdin_rank = static_cast<Rank>(rank.value_or(0));
    return Status();
  };
}

Option::Apply SetInject(Inject* to) {
  return [to](const TypedOption& typed) {
    std::string word;
    const std::vector<std::string_view> words = {"auto", "always", "never"};
    if (Status s = SetOneOf(&word, words)(typed); !s.ok()) return s;
    *to = word == "always"  ? Inject::kAlways
          : word == "never" ? Inject::kNever
                            : Inject::kAuto;
    return Status();
  };
}

// Returns the number, or no value if the text is not a number from -`below` to
// `above`.
std::optional<int> SignedNumber(const std::string& text, uint32_t below,
                                uint32_t above) {
  const bool is_negative = text.starts_with('-');
  const auto value = ParseNumber(text.substr(is_negative ? 1 : 0),
                                 is_negative ? below : above);
  if (!value) return std::nullopt;
  return static_cast<int>(*value) * (is_negative ? -1 : 1);
}

Option::Apply SetNice(std::optional<NiceValue>* to) {
  return [to](const TypedOption& typed) {
    const auto value = SignedNumber(typed.values[0], 20, 19);
    if (!value) return WrongValue(typed, "a nice value from -20 to 19");
    to->emplace().value = *value;
    return Status();
  };
}

Option::Apply SetPriority(std::optional<JobPriority>* to) {
  return [to](const TypedOption& typed) {
    const auto value =
        SignedNumber(typed.values[0], kMaxPriority, kMaxPriority);
    if (!value) {
      return WrongValue(typed, "a number from -1000000000 to 1000000000");
    }
    to->emplace().value = *value;
    return Status();
  };
}

// Adds a hint for the scheduler, in place of a hint of the same name.
Option::Apply AddHint(std::vector<std::string>* to) {
  return [to](const TypedOption& typed) {
    const std::string& hint = typed.values[0];
    const size_t equals = hint.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return WrongValue(typed, "NAME=VALUE");
    }
    const std::string name = hint.substr(0, equals + 1);
    std::erase_if(*to, [&](const auto& old) { return old.starts_with(name); });
    size_t size = hint.size();
    for (const std::string& other : *to) size += other.size();
    if (to->size() >= kMaxHints || size > kMaxHintBytes) {
      return Status(kErrBadParam, "at most " + std::to_string(kMaxHints) +
                                      " hints can be given, of " +
                                      std::to_string(kMaxHintBytes) +
                                      " bytes together");
    }
    to->push_back(hint);
    return Status();
  };
}

// Sets the format of the document. The document may go to a file, because it
// must not be mixed with the job's output.
Option::Apply SetRunFormat(RunOptions* to) {
  return [to](const TypedOption& typed) {
    constexpr std::string_view kFile = "json=";
    to->json_file.clear();
    if (!typed.values[0].starts_with(kFile)) return SetFormat(&to->json)(typed);
    to->json = true;
    to->json_file = typed.values[0].substr(kFile.size());
    return to->json_file.empty() ? WrongValue(typed, "json, json=FILE or text")
                                 : Status();
  };
}

// Refuses options of other launchers that Canopy does not implement, with
// advice.
Option::Apply Refuse(const std::string& advice) {
  return [advice](const TypedOption& typed) {
    return Status(kErrBadParam,
                  "option '" + typed.name + "' is not supported: " + advice);
  };
}

// Sets one bit of the reports.
Option::Apply AddReport(uint32_t* to, JobReports report) {
  return [to, report](const TypedOption&) {
    *to |= report;
    return Status();
  };
}

// Stores a time limit in the format of srun's --time.
Option::Apply SetSlurmLimit(uint32_t* to) {
  return [to](const TypedOption& typed) {
    const auto limit = ParseSlurmDuration(typed.values[0]);
    if (!limit || *limit > std::chrono::seconds(kMaxTimeLimit)) {
      return WrongValue(typed, "a time such as 10 (minutes), 10:30 or 1-12:00");
    }
    *to = static_cast<uint32_t>(
        std::chrono::ceil<std::chrono::seconds>(*limit).count());
    return Status();
  };
}

void AddNodes(const RunTargets& to, OptionTable* table) {
  table->push_back({to.as_mpirun ? "n np ntasks c" : "n np ntasks", 1, "N",
                    "number of processes (default: one per slot)",
                    SetCount(&to.app->num_procs)});
  table->push_back({"host hosts H nodelist w", 1, "A[:N],B...",
                    "nodes to use, with N slots each; n[01-16,20] is a\n"
                    "range of nodes",
                    [app = to.app](const TypedOption& typed) {
                      return AddHosts(ParseHostList(typed.values[0]), app);
                    }});
  table->push_back({"hostfile machinefile f default-hostfile", 1, "FILE",
                    "file of nodes to use: lines of NAME [slots=N]",
                    [app = to.app](const TypedOption& typed) {
                      return AddHosts(LoadHostfile(typed.values[0]), app);
                    }});
  table->push_back({"nodes", 1, "K", "use K of the nodes that there are",
                    SetNumber(&to.run->nodes, 1, kMaxListedNames)});
  table->push_back({"allow-missing", 0, "",
                    "continue with the hosts that answer in 30 seconds,\n"
                    "and name the others; if agents are started for the\n"
                    "job",
                    SetFlag(&to.run->allow_missing)});
  table->push_back({"emulate", 1, "K",
                    "emulate K nodes, node1 to nodeK, on this machine",
                    SetNumber(&to.run->emulate, 1, kMaxEmulated)});
}

// Options without a help text are older spellings.
void AddPlacement(const RunTargets& to, OptionTable* table) {
  std::string* const map_by = &to.run->job.places.map_by;
  std::string* const bind_to = &to.run->job.places.bind_to;
  const Option options[] = {
      {"map-by", 1, "POLICY",
       "slot, node, core, hwthread, package (socket), numa,\n"
       "l1cache, l2cache, l3cache, ppr:N:RESOURCE or seq, with\n"
       ":pe=N, :span, :oversubscribe, :nolocal",
       SetText(map_by)},
      {"rankfile rf", 1, "FILE",
       "file with the node and the CPUs of each rank: lines of\n"
       "rank N=HOST slot=CORES",
       SetText(to.rankfile)},
      {"rank-by", 1, "POLICY", "slot, node, span, core, package, ...",
       SetText(&to.run->job.places.rank_by)},
      {"bind-to", 1, "OBJECT",
       "none, core, hwthread, package, numa, l3cache, ...", SetText(bind_to)},
      {"npernode N ppn perhost ntasks-per-node", 1, "N",
       "start N processes per node (--map-by ppr:N:node)",
       SetCounted(map_by, "ppr:", ":node")},
      {"pernode", 0, "", "", SetTo(map_by, "ppr:1:node")},
      {"npersocket", 1, "N", "", SetCounted(map_by, "ppr:", ":package")},
      {to.as_mpirun ? "cpus-per-proc cpus-per-rank cpus-per-task"
                    : "cpus-per-task c cpus-per-proc cpus-per-rank",
       1, "N", "CPUs for each process (--map-by slot:pe=N)",
       SetCounted(to.map_suffix, ":pe=", "", /*append=*/true)},
      {"gpus-per-rank gpus-per-task", 1, "N",
       "GPUs for each process, which no other process\n"
       "has: CUDA_VISIBLE_DEVICES or\n"
       "ROCR_VISIBLE_DEVICES names them",
       SetNumber(&to.run->job.places.gpus_per_proc, 1, 1024)},
      {"memory-per-rank mem-per-rank", 1, "SIZE",
       "memory to book for each process, such as 512M or\n"
       "4G; jobs together book no more than a node has",
       SetBytes(&to.run->job.places.memory_per_proc)},
      {"cpu-list cpu-set", 1, "CPUS",
       "use only these CPUs of each node, such as 0-3,8",
       SetText(&to.run->job.places.cpu_list)},
      {"bynode", 0, "", "", SetTo(map_by, "node")},
      {"byslot", 0, "", "", SetTo(map_by, "slot")},
      {"bycore", 0, "", "", SetTo(map_by, "core")},
      {"bind-to-core", 0, "", "", SetTo(bind_to, "core")},
      {"bind-to-socket", 0, "", "", SetTo(bind_to, "package")},
      {"bind-to-none", 0, "", "", SetTo(bind_to, "none")},
      {"oversubscribe", 0, "", "allow more processes than slots",
       SetFlag(&to.run->job.places.oversubscribe)},
      {"nooversubscribe", 0, "", "",
       [suffix = to.map_suffix](const TypedOption&) {
         *suffix += ":nooversubscribe";
         return Status();
       }},
      {"nolocal", 0, "", "place no process on the node of the launcher",
       SetFlag(&to.run->job.places.no_local)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

void AddDisplay(const RunTargets& to, OptionTable* table) {
  RunOptions* const run = to.run;
  const Option options[] = {
      {"report-bindings", 0, "",
       "report the CPUs to which each process is bound",
       SetFlag(&run->report_bindings)},
      {"display", 1, "WHAT",
       "print before the start: map, allocation, bindings or\n"
       "topo (the CPUs of the nodes)",
       SetDisplay(run)},
      {"display-map", 0, "", "", SetFlag(&run->display_map)},
      {"display-allocation", 0, "", "", SetFlag(&run->display_allocation)},
      {"do-not-launch", 0, "", "map the processes, but do not start them",
       SetFlag(&run->do_not_launch)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

// Adds the options that determine what happens when processes fail.
void AddFailures(const RunTargets& to, OptionTable* table) {
  RunOptions* const run = to.run;
  const Option options[] = {
      {"max-restarts", 1, "N", "restart each failed rank, at most N times",
       SetNumber(&run->job.max_restarts, 0, UINT32_MAX - 1)},
      {"continuous", 0, "", "restart failed ranks without a limit",
       [run](const TypedOption&) {
         run->job.max_restarts = kUnlimitedRestarts;
         return Status();
       }},
      {"enable-recovery recoverable", 0, "",
       "continue when processes fail; the job fails only if\n"
       "no process succeeds",
       SetFlag(&run->job.recoverable)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

// Adds options for processes that wait for a debugger.
void AddDebugger(const RunTargets& to, OptionTable* table) {
  RunOptions* const run = to.run;
  const Option options[] = {
      {"stop-on-exec", 0, "",
       "stop the ranks before the first instruction of their\n"
       "program, until a debugger releases them",
       SetFlag(&run->stop_on_exec)},
      {"stop-in-init", 0, "", "stop the ranks in PMIx_Init",
       SetFlag(&run->stop_in_init)},
      {"stop-in-app", 0, "", "stop the ranks where the program itself stops",
       SetFlag(&run->stop_in_app)},
      {"stop-ranks", 1, "RANKS", "stop only these ranks, such as 0,2-5",
       SetRanks(&run->stop_ranks)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

// Adds options for files that are copied to the nodes before the processes
// start.
void AddPreloads(const RunTargets& to, OptionTable* table) {
  table->push_back({"preload-binary s", 0, "",
                    "copy the program to each node and run the copy",
                    SetFlag(&to.app->preload_program)});
  table->push_back({"preload-files", 1, "FILE,FILE...",
                    "copy files to each node, as\n"
                    "$CANOPY_JOB_DIR/files/FILE",
                    SetText(&to.app->preload_files)});
}

// Adds options for the environment of the processes.
void AddEnvironment(const RunTargets& to, OptionTable* table) {
  std::vector<std::string>* const app = &to.app->env;
  std::vector<std::string>* const all = &to.run->job.env;
  const Environment* const environment = to.environment;
  const Option options[] = {
      {"x", 1, "NAME[=VALUE]", "set an environment variable for this program",
       ExportVariable(app, environment, &to.run->warnings)},
      {"genv", 2, "NAME VALUE", "", SetVariable(all, ""), /*last=*/false,
       /*joins_values=*/true},
      {"env", 2, "NAME VALUE", "", SetVariable(app, ""), /*last=*/false,
       /*joins_values=*/true},
      {"mca omca", 2, "NAME VALUE",
       "set a parameter of Open MPI, as OMPI_MCA_NAME",
       SetVariable(app, "OMPI_MCA_")},
      {"gmca gomca", 2, "NAME VALUE", "", SetVariable(all, "OMPI_MCA_")},
      {"pmixmca gpmixmca", 2, "NAME VALUE",
       "set a parameter of PMIx, as PMIX_MCA_NAME",
       SetVariable(app, "PMIX_MCA_")},
      {"prtemca", 2, "NAME VALUE", "", SetVariable(app, "PRTE_MCA_")},
      {"export", 1, "LIST", "",
       ExportVariables(app, environment, &to.run->warnings)},
      {"wdir wd chdir D", 1, "DIR", "working directory of the processes",
       SetText(&to.app->cwd)},
      {"pset", 1, "NAME", "create a process set of this program's processes",
       SetText(&to.app->pset)},
      {"path", 1, "DIRS",
       "directories to search for the program before those\n"
       "of PATH",
       PutBefore(app, environment, {{"PATH", ""}})},
      {"prefix", 1, "DIR", "",
       PutBefore(app, environment,
                 {{"PATH", "/bin"}, {"LD_LIBRARY_PATH", "/lib"}})},
      {"torch-env", 0, "",
       "set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,\n"
       "MASTER_PORT and the other variables that\n"
       "torch.distributed reads",
       SetFlag(&to.run->job.torch_env)},
      {"nice", 1, "N", "nice value of the processes, from -20 to 19",
       SetNice(&to.run->job.process.nice)},
      {"index-argv-by-rank", 0, "",
       "set argv[0] of each process to PROGRAM-RANK",
       SetFlag(&to.run->job.process.index_argv)},
      {"app", 1, "FILE",
       "read the programs from a file: lines of\n"
       "[options] program [args]",
       SetText(to.app_file)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

void AddStreams(const RunTargets& to, OptionTable* table) {
  RunOptions* const run = to.run;
  const Option options[] = {
      {"stdin", 1, "RANK",
       "rank that receives standard input, or all or none\n"
       "(default: 0)",
       SetStdin(run)},
      {"pty", 0, "",
       "give rank 0 a terminal, which is operated from this\n"
       "one, such as for 'canopy run --pty bash'",
       SetFlag(&run->pty)},
      {"tag-output l label", 0, "", "prefix every line with [job,rank]<stream>",
       SetFlag(&run->tag_output)},
      {"timestamp-output", 0, "", "prefix every line with the time",
       SetFlag(&run->timestamp_output)},
      {"xml", 0, "", "write every line as an element of XML",
       SetFlag(&run->xml_output)},
      {"output-filename", 1, "DIR",
       "also write DIR/NAMESPACE/rank.N/stdout and stderr\n"
       "(DIR:nocopy: write only the files;\n"
       "DIR:nojobid: write to DIR/rank.N)",
       SetOutputDirectory(run)},
      {"output", 1, "WORDS",
       "tag, timestamp, xml, merge or dir=DIR, or a list of\n"
       "them;\n"
       "file=FILE: write to this file instead, where %j is\n"
       "the job's name, and %r the rank",
       SetOutput(run)},
      {"merge-stderr-to-stdout", 0, "",
       "redirect standard error of the processes to\n"
       "standard output",
       SetFlag(&run->job.merge_stderr)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

// Adds the hints for the scheduler.
void AddHints(const RunTargets& to, OptionTable* table) {
  SchedulerHints* const hints = &to.run->job.hints;
  const Option options[] = {
      {"queue partition", 1, "NAME", "queue of the scheduler for the job",
       SetText(&hints->queue)},
      {"account A", 1, "NAME", "account that the job is charged to",
       SetText(&hints->account)},
      {"priority", 1, "N", "priority of the job at the scheduler",
       SetPriority(&hints->priority)},
      {"hint", 1, "NAME=VALUE", "anything else that the scheduler knows",
       AddHint(&hints->others)},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

void AddRest(const RunTargets& to, OptionTable* table) {
  RunOptions* const run = to.run;
  const Option options[] = {
      {"gpus G", 1, "", "",
       Refuse("--gpus-per-task has the number for each process")},
      {"timeout", 1, "TIME",
       "end the job if it runs longer than this: seconds,\n"
       "10m, 2h or 1:30",
       SetSeconds(&run->job.timeout_seconds, 0, kMaxTimeLimit)},
      {"time t", 1, "TIME", "time limit as in srun: a plain number is minutes",
       SetSlurmLimit(&run->job.timeout_seconds)},
      {"report-state-on-timeout", 0, "",
       "print the state of each process before the timeout\n"
       "ends the job",
       AddReport(&run->job.reports, kTimeoutStates)},
      {"get-stack-traces", 0, "",
       "print the stacks of the processes before the timeout\n"
       "ends the job (needs gdb on each node)",
       AddReport(&run->job.reports, kTimeoutStacks)},
      {"wait", 0, "",
       "wait until enough slots are free, first come, first\n"
       "served (default: fail if there are too few)",
       SetFlag(&run->job.places.waits)},
      {"name job-name J", 1, "NAME", "name of the job in 'canopy ps'",
       SetText(&run->job.name)},
      {"detach", 0, "",
       "print the job's name and return while the job runs;\n"
       "its output is in JOB.out, unless --output file= names\n"
       "another file; see 'canopy wait' and 'canopy output'",
       SetFlag(&run->detach)},
      {"kill-grace", 1, "SECONDS",
       "time between SIGTERM and SIGKILL when a job is\n"
       "ended",
       SetSeconds(&run->job.kill_grace_seconds, 1, kMaxGraceSeconds)},
      {"inject", 1, "WHEN",
       "whether to put Canopy's libpmix before a program's\n"
       "own: auto, always, never",
       SetInject(&run->job.inject)},
      {"allow-run-as-root", 0, "",
       "allow root to run programs when called as mpirun",
       SetFlag(&run->allow_run_as_root)},
      {"context", 1, "NAME", "overlay to use (see 'canopy up')",
       SetText(&run->context)},
      {"o", 1, "json[=FILE]",
       "print the maps and the result as JSON, on standard\n"
       "output if the processes do not write there, else on\n"
       "standard error; or write them to the file",
       SetRunFormat(run)},
      {"verbose v", 0, "", "report each step and how long it takes",
       SetFlag(&run->verbose)},
      {"quiet q", 0, "", "print no progress and nothing about a failed job",
       SetFlag(&run->quiet)},
      {"version V", 0, "", "print the version", SetFlag(&run->version),
       /*last=*/true},
      {"help h", 0, "", "print this help", SetFlag(&run->help), /*last=*/true},
  };
  table->insert(table->end(), std::begin(options), std::end(options));
}

}  // namespace

OptionTable RunOptionTable(const RunTargets& to) {
  OptionTable table;
  AddNodes(to, &table);
  AddPlacement(to, &table);
  AddDisplay(to, &table);
  AddEnvironment(to, &table);
  AddPreloads(to, &table);
  AddStreams(to, &table);
  AddFailures(to, &table);
  AddDebugger(to, &table);
  AddHints(to, &table);
  AddAgentOptions(&to.run->agents, &table);
  AddRest(to, &table);
  return table;
}

}  // namespace canopy::cli
