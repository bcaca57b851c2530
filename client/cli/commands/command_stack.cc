// stack: where in their program the ranks of a job are.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/stacks.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/job_names.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/posix/read_to_end.h"

extern char** environ;

namespace canopy::cli {
namespace {

// `canopy debug` by this program, with its standard output to `out`.
Result<pid_t> Start(const std::vector<std::string>& command, int out) {
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return Status(kErrJobSysOpFailed,
                std::string("cannot start a process: ") + strerror(error));
}

int Print(const tools::StackReport& report) {
  for (const std::string& error : report.errors) PrintError(error);
  const bool written = WriteAll(STDOUT_FILENO, report.tree.Text());
  return written && report.errors.empty() ? 0 : kExitFailure;
}

}  // namespace

Result<tools::StackReport> StacksOf(const std::string& context,
                                    const std::string& nspace, bool threads,
                                    const std::set<uint32_t>& only) {
  std::vector<std::string> command = {"canopy", "debug"};
  if (!context.empty()) command.insert(command.end(), {"--context", context});
  command.insert(command.end(),
                 {nspace, "--per-node", "1", "--tag-output", "--",
                  ProgramBeside("CANOPY_STACKS", "canopy-stacks")});
  command.push_back(nspace);
  if (threads) command.emplace_back("--threads");
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrJobSysOpFailed, strerror(errno));
  }
  Result<pid_t> pid = Start(command, fds[1]);
  close(fds[1]);
  const std::string output = pid.ok() ? ReadToEnd(fds[0]) : "";
  close(fds[0]);
  if (!pid.ok()) return pid.status();
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  tools::StackReport report = tools::ReadStacks(output, only);
  if (status == 0 || !report.errors.empty()) return report;
  return Status(kErrJobFailedToLaunch,
                "the stacks of job " + nspace + " could not be read");
}

int StackCommand(const CommandLine& line) {
  SharedOptions shared;
  bool threads = false;
  std::vector<uint32_t> ranks;
  const CommandInfo info = {
      "stack",
      "JOB [options]",
      "Prints where in their program the ranks of a running job are: their\n"
      "stacks as one tree, equal ones once, with how many ranks have them. A\n"
      "gdb on each node stops its ranks for a moment. JOB is a name of\n"
      "'canopy ps' or its end, such as 1.\n",
      {{"threads", 0, "", "all threads, not the first alone",
        SetFlag(&threads)},
       {"ranks", 1, "RANKS", "only these, such as 0,2-5", SetRanks(&ranks)}},
      1,
      1};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = NeedContext(shared.context);
  if (!context.ok()) return Fail(context.status());
  Result<RootAgent> root = ConnectRoot(*context);
  if (!root.ok()) return Fail(root.status());
  Result<std::string> job = FindJob(&root->client, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  Result<tools::StackReport> report =
      StacksOf(shared.context, *job, threads, {ranks.begin(), ranks.end()});
  return report.ok() ? Print(*report) : Fail(report.status());
}

}  // namespace canopy::cli
