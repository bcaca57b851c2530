// The complete canopy command line: all commands, and `canopy run` when it
// needs gRPC to reach the agents. The program called canopy executes it.
#include <unistd.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/startup.h"
#include "client/cli/commands/commands.h"
#include "client/cli/control/grpc_agents.h"
#include "client/cli/run/run_command.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

struct Command {
  std::string_view name;
  int (*function)(const CommandLine& line);
  std::string_view help;
};

int RunAnywhere(const CommandLine& line) {
  GrpcAgents agents;
  return RunCommand(line, &agents).value_or(kExitFailure);
}

constexpr Command kCommands[] = {
    {"run", RunAnywhere, "run a program as one job of many processes"},
    {"up", UpCommand, "start agents that stay, as an overlay"},
    {"down", DownCommand, "end the agents of an overlay"},
    {"status", StatusCommand, "draw the tree of agents"},
    {"ps", PsCommand, "list the jobs"},
    {"why", WhyCommand, "tell what waits, for whom, and how long"},
    {"stack", StackCommand,
     "print where in their program the ranks of a job are"},
    {"debug", DebugCommand, "start a tool beside the ranks of a running job"},
    {"top", TopCommand, "show the agents and the jobs, again and again"},
    {"wait", WaitCommand, "wait until a job is over"},
    {"output", OutputCommand, "print the output of a running job"},
    {"attach", AttachCommand, "the output of a running job, and input for it"},
    {"query", QueryCommand, "ask for what PMIx_Query_info answers"},
    {"event", EventCommand, "raise an event for a job or for all"},
    {"publish", PublishCommand, "publish data under names"},
    {"lookup", LookupCommand, "look up what was published"},
    {"unpublish", UnpublishCommand, "take back what was published here"},
    {"relay", RelayCommand,
     "let tools of this machine reach an agent of another"},
    {"kill", KillCommand, "end jobs"},
    {"signal", SignalCommand, "send a signal to the processes of a job"},
    {"logs", LogsCommand, "print what the agents logged"},
    {"doctor", DoctorCommand, "look for what would keep jobs from running"},
    {"host-module", HostModuleCommand, "test the service of a scheduler"},
};

std::string HelpText() {
  std::string text =
      "usage: canopy COMMAND [options]\n"
      "\n"
      "Runs parallel programs and the agents that serve them.\n"
      "\n"
      "commands:\n";
  for (const Command& command : kCommands) {
    std::string line = "  " + std::string(command.name);
    line.resize(15, ' ');
    text += line + std::string(command.help) + "\n";
  }
  return text +
         "\n"
         "'canopy COMMAND --help' lists the options of a command. Under the\n"
         "names mpirun, mpiexec and prterun this program is 'canopy run'.\n";
}

int UnknownCommand(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) known.push_back(command.name);
  std::string text = "there is no command '" + name + "'";
  const std::string_view nearest = Nearest(name, known);
  if (!nearest.empty()) {
    text += "; did you mean '" + std::string(nearest) + "'?";
  }
  PrintError(text + " ('canopy --help' lists the commands)");
  return kExitUsage;
}

int Dispatch(const std::string& program, std::span<const std::string> args) {
  if (IsRunName(program)) return RunAnywhere({program, args});
  if (args.empty()) {
    (void)WriteAll(STDERR_FILENO, HelpText());
    return kExitUsage;
  }
  const std::string& name = args[0];
  if (name == "--help" || name == "-h" || name == "help") {
    return WriteAll(STDOUT_FILENO, HelpText()) ? 0 : kExitFailure;
  }
  if (IsVersionWord(name)) return PrintVersion();
  for (const Command& command : kCommands) {
    if (command.name == name) {
      return command.function({"canopy", args.subspan(1)});
    }
  }
  return UnknownCommand(name);
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  using namespace canopy::cli;  // NOLINT
  OpenStandardStreams(argv);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string program = argc > 0 ? ProgramName(argv[0]) : "canopy";
  // Threads that RunJob leaves behind must not see static objects destroyed.
  _exit(Dispatch(program, args));
}
