// Prints the stacks of those processes of a job that run on this node. One gdb
// has all of them as its inferiors. `canopy stack` starts this program beside a
// job.
//
// canopy-stacks NAMESPACE [--threads]
//
// Prints lines of fields that tabs separate:
//   stack RANK THREAD FRAME...   from the outermost frame; thread 0: the first
//   error TEXT
//
// canopy-stacks NAMESPACE --report [states] [stacks]
//
// Prints the states and stacks of these processes on standard error, for
// people. An agent starts this beside a job that has exceeded its time limit.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "client/stacks/stack_tree.h"
#include "client/tools/gdb_output.h"
#include "client/tools/process_state.h"
#include "pmix.h"

extern char** environ;

namespace canopy::tools {
namespace {

// A gdb that takes longer is assumed to hang.
constexpr auto kLimit = std::chrono::seconds(60);
constexpr char kDepth[] = "128";

struct Process {
  pmix_rank_t rank;
  pid_t pid;
  pmix_proc_state_t state;
  int exit_code;
};

void Complain(const std::string& text, std::string* out) {
  *out += "error\t" + text + "\n";
}

// Returns the name by which the job's agents know this node.
std::string Host() {
  pmix_value_t* value = nullptr;
  if (PMIx_Get(nullptr, PMIX_HOSTNAME, nullptr, 0, &value) != PMIX_SUCCESS) {
    return "this node";
  }
  const std::string name = value->data.string;
  PMIX_VALUE_RELEASE(value);
  return name;
}

std::vector<Process> ProcessesIn(const pmix_info_t& info) {
  std::vector<Process> out;
  if (info.value.type != PMIX_DATA_ARRAY) return out;
  const pmix_data_array_t& array = *info.value.data.darray;
  if (array.type != PMIX_PROC_INFO) return out;
  const auto* const rows = static_cast<const pmix_proc_info_t*>(array.array);
  for (size_t i = 0; i < array.size; ++i) {
    out.push_back(
        {rows[i].proc.rank, rows[i].pid, rows[i].state, rows[i].exit_code});
  }
  return out;
}

int LocalProcesses(const std::string& nspace, std::vector<Process>* out) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIx_Argv_append_nosize(&query.keys, PMIX_QUERY_LOCAL_PROC_TABLE);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace.c_str(),
                 PMIX_STRING);
  pmix_info_t* results = nullptr;
  size_t count = 0;
  const int rc = PMIx_Query_info(&query, 1, &results, &count);
  for (size_t i = 0; i < count; ++i) *out = ProcessesIn(results[i]);
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
  return rc;
}

std::vector<std::string> GdbCommand(const std::vector<Process>& processes) {
  std::vector<std::string> argv = {"gdb", "-nx", "-q", "-batch"};
  for (const char* setting :
       {"debuginfod enabled off", "print frame-arguments none",
        "filename-display basename", "width 0", "print thread-events off"}) {
    argv.insert(argv.end(), {"-iex", std::string("set ") + setting});
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    if (i > 0) {
      argv.insert(argv.end(), {"-ex", "add-inferior -no-connection", "-ex",
                               "inferior " + std::to_string(i + 1)});
    }
    argv.insert(argv.end(),
                {"-ex", "attach " + std::to_string(processes[i].pid)});
  }
  argv.insert(argv.end(),
              {"-ex", std::string("thread apply all bt ") + kDepth});
  return argv;
}

// Returns the output of gdb up to its end or the time limit.
std::string ReadAll(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  std::string out;
  char buffer[1 << 16];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready = {fd, POLLIN, 0};
    if (left.count() <= 0 ||
        poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      return out;
    }
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return out;
    out.append(buffer, static_cast<size_t>(n));
  }
}

// Returns the output, or an empty string and the reason in *why.
std::string RunGdb(const std::vector<std::string>& command, std::string* why) {
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    *why = strerror(errno);
    return "";
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(fds[1]);
  std::string out;
  if (error == 0) {
    out = ReadAll(fds[0]);
    // The kernel detaches the processes when gdb ends, even by a signal.
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  } else {
    *why = error == ENOENT ? "gdb is not on this node: install the package gdb"
                           : std::string("gdb: ") + strerror(error);
  }
  close(fds[0]);
  return out;
}

// Returns why the kernel does not let gdb attach, as far as this is known.
std::string Restriction() {
  FILE* const file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  int scope = 0;
  const bool read = file != nullptr && fscanf(file, "%d", &scope) == 1;
  if (file != nullptr) fclose(file);
  if (!read || scope == 0) return "";
  return " (kernel.yama.ptrace_scope is " + std::to_string(scope) +
         ": only root, or a process that a job lets trace it, may)";
}

void Print(pmix_rank_t rank, int thread, const ThreadStack& stack,
           std::string* out) {
  *out += "stack\t" + std::to_string(rank) + "\t" + std::to_string(thread);
  for (const std::string& frame : stack.frames) *out += "\t" + frame;
  *out += "\n";
}

// gdb prints the threads of a process in descending order, so its first thread,
// which has the number of the process, comes last: `others` belong to the next
// process in `text`. With `threads` false, only first threads are printed.
void PrintStacks(const std::vector<Process>& processes, const std::string& text,
                 bool threads, std::string* out) {
  std::map<pid_t, pmix_rank_t> ranks;
  for (const Process& process : processes) ranks[process.pid] = process.rank;
  std::vector<ThreadStack> others;
  for (const ThreadStack& stack : ParseStacks(text)) {
    const auto rank = ranks.find(stack.lwp);
    if (rank == ranks.end()) {
      others.push_back(stack);
      continue;
    }
    Print(rank->second, 0, stack, out);
    for (const ThreadStack& other : others) {
      if (threads) Print(rank->second, other.lwp, other, out);
    }
    others.clear();
    ranks.erase(rank);
  }
  for (const auto& [pid, rank] : ranks) {
    std::string why = "rank " + std::to_string(rank) + " on " + Host() +
                      ": gdb has no stack of process " + std::to_string(pid);
    for (const std::string& complaint : Complaints(text)) {
      why += ": " + complaint;
    }
    Complain(why + Restriction(), out);
  }
}

// Runs one gdb for all processes that are running.
void AddStacks(std::vector<Process> processes, bool threads, std::string* out) {
  std::erase_if(processes, [](const Process& process) {
    return process.pid <= 0 || process.state >= PMIX_PROC_STATE_TERMINATED;
  });
  if (processes.empty()) return;
  std::string why;
  const std::string text = RunGdb(GdbCommand(processes), &why);
  if (!why.empty()) return Complain(Host() + ": " + why, out);
  PrintStacks(processes, text, threads, out);
}

// Returns false, after a message, if the processes are not known.
bool Find(const std::string& nspace, std::vector<Process>* processes,
          std::string* out) {
  const int rc = LocalProcesses(nspace, processes);
  if (rc == PMIX_SUCCESS) return true;
  Complain(Host() + ": the processes of " + nspace +
               " are not known: " + PMIx_Error_string(rc),
           out);
  return false;
}

// Returns the kernel's letter for the state of a process, or 0.
char OsStateOf(pid_t pid) {
  FILE* const file =
      fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return '\0';
  char line[256] = "";
  if (fgets(line, sizeof line, file) == nullptr) line[0] = '\0';
  fclose(file);
  // The name before the state may contain parentheses.
  const char* const name_end = strrchr(line, ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '\0';
}

std::string StateOf(const Process& process) {
  pmix_proc_info_t info = {};
  info.state = process.state;
  info.exit_code = process.exit_code;
  return StateText(info, OsStateOf(process.pid));
}

std::string StatesText(const std::vector<Process>& processes) {
  std::string out;
  const std::string host = Host();
  for (const Process& process : processes) {
    out += "rank " + std::to_string(process.rank) + " on " + host +
           ", process " + std::to_string(process.pid) + ": " +
           StateOf(process) + "\n";
  }
  return out;
}

std::string Stacks(const std::string& nspace, bool threads) {
  std::string out;
  std::vector<Process> processes;
  if (Find(nspace, &processes, &out)) AddStacks(processes, threads, &out);
  return out;
}

std::string Report(const std::string& nspace, bool states, bool stacks) {
  std::string lines;
  std::vector<Process> processes;
  std::string out;
  if (Find(nspace, &processes, &lines)) {
    if (states) out += StatesText(processes);
    if (stacks) AddStacks(processes, /*threads=*/false, &lines);
  }
  const StackReport report = ReadStacks(lines, {});
  for (const std::string& error : report.errors) out += error + "\n";
  if (!report.tree.empty()) out += "on " + Host() + ":\n";
  return out + report.tree.Text();
}

}  // namespace
}  // namespace canopy::tools

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr,
            "usage: canopy-stacks NAMESPACE [--threads]\n"
            "       canopy-stacks NAMESPACE --report [states] [stacks]\n");
    return 2;
  }
  const auto said = [argc, argv](const char* word) {
    return std::any_of(argv + 2, argv + argc, [word](const char* given) {
      return strcmp(given, word) == 0;
    });
  };
  pmix_proc_t self;
  const int rc = PMIx_Init(&self, nullptr, 0);
  if (rc != PMIX_SUCCESS) {
    printf("error\tPMIx_Init: %s\n", PMIx_Error_string(rc));
    return 1;
  }
  // The exit code is 0, because the output includes the failures.
  if (said("--report")) {
    fputs(
        canopy::tools::Report(argv[1], said("states"), said("stacks")).c_str(),
        stderr);
  } else {
    fputs(canopy::tools::Stacks(argv[1], said("--threads")).c_str(), stdout);
  }
  fflush(stdout);
  PMIx_Finalize(nullptr, 0);
  return 0;
}
