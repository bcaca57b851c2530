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
    {"up", UpCommand, "start an overlay: agents that stay up"},
    {"down", DownCommand, "stop the agents of an overlay"},
    {"status", StatusCommand, "show the tree of agents"},
    {"node", NodeCommand, "list, add, drain, resume and remove nodes"},
    {"ps", PsCommand, "list the jobs"},
    {"why", WhyCommand,
     "show which operations wait, for which ranks, and how long"},
    {"stack", StackCommand, "print the stacks of the ranks of a job"},
    {"debug", DebugCommand, "start a tool beside the ranks of a running job"},
    {"top", TopCommand, "show the agents and the jobs, refreshed periodically"},
    {"wait", WaitCommand, "wait for the end of a job"},
    {"output", OutputCommand, "print the output of a running job"},
    {"attach", AttachCommand,
     "print the output of a running job, and send it input"},
    {"query", QueryCommand, "query information, as PMIx_Query_info does"},
    {"event", EventCommand,
     "raise an event for a job or for the whole session"},
    {"publish", PublishCommand, "publish values under keys"},
    {"lookup", LookupCommand, "look up published values"},
    {"unpublish", UnpublishCommand,
     "remove values that were published on this machine"},
    {"relay", RelayCommand,
     "let tools on this machine use an agent on another one"},
    {"kill", KillCommand, "end jobs"},
    {"signal", SignalCommand, "send a signal to the processes of a job"},
    {"logs", LogsCommand, "print the logs of the agents"},
    {"doctor", DoctorCommand, "check for problems that keep jobs from running"},
    {"config", ConfigCommand,
     "show the settings, and where each one comes from"},
    {"host-module", HostModuleCommand,
     "test a scheduler's service, or create its certificate"},
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
         "'canopy help COMMAND' lists the options of a command. Called as\n"
         "mpirun, mpiexec or prterun, this program acts as 'canopy run'.\n";
}

int UnknownCommand(const std::string& name) {
  if (name.starts_with('-')) {
    PrintError("unknown option '" + name +
               "'; options of a command follow its name, and 'canopy "
               "--version' prints the version");
    return kExitUsage;
  }
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

// Returns the number of words at the start of `args` that are options of every
// command. These options may precede the command's name.
size_t SharedWords(std::span<const std::string> args) {
  size_t words = 0;
  while (words < args.size()) {
    const std::string& word = args[words];
    if (word.starts_with("--context=") || word.starts_with("--color=")) {
      words += 1;
    } else if ((word == "--context" || word == "-o" || word == "--color") &&
               words + 1 < args.size()) {
      words += 2;
    } else {
      break;
    }
  }
  return words;
}

int RunNamed(const std::string& name, std::span<const std::string> args) {
  for (const Command& command : kCommands) {
    if (command.name == name) return command.function({"canopy", args});
  }
  return UnknownCommand(name);
}

int PrintHelp(std::span<const std::string> args) {
  if (!args.empty() && args[0] != "help")
    return RunNamed(args[0], std::vector<std::string>{"--help"});
  return PrintText(HelpText());
}

int Dispatch(const std::string& program, std::span<const std::string> args) {
  if (IsRunName(program)) return RunAnywhere({program, args});
  const size_t shared = SharedWords(args);
  if (shared == args.size()) {
    (void)WriteAll(STDERR_FILENO, HelpText());
    return kExitUsage;
  }
  const std::string& name = args[shared];
  if (name == "--help" || name == "-h" || name == "help") {
    return PrintHelp(args.subspan(shared + 1));
  }
  if (IsVersionWord(name)) return PrintVersion();
  std::vector<std::string> words(args.begin(), args.begin() + shared);
  words.insert(words.end(), args.begin() + shared + 1, args.end());
  return RunNamed(name, words);
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  using namespace canopy::cli;  // NOLINT
  OpenStandardStreams(argv);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string program = argc > 0 ? ProgramName(argv[0]) : "canopy";
  // Threads that RunJob leaves behind must not use destroyed static objects.
  _exit(Dispatch(program, args));
}
