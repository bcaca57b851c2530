// The canopy command line.
#include <fcntl.h>
#include <unistd.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/files.h"
#include "client/cli/words.h"
#include "common/version.h"

namespace canopy::cli {
namespace {

struct Command {
  std::string_view name;
  int (*function)(const CommandLine& line);
  std::string_view help;
};

constexpr Command kCommands[] = {
    {"run", RunCommand, "run a program as one job of many processes"},
    {"up", UpCommand, "start agents that stay, as an overlay"},
    {"down", DownCommand, "end the agents of an overlay"},
    {"status", StatusCommand, "draw the tree of agents"},
    {"ps", PsCommand, "list the jobs"},
    {"why", WhyCommand, "tell what waits, for whom, and how long"},
    {"kill", KillCommand, "end jobs"},
    {"signal", SignalCommand, "send a signal to the processes of a job"},
    {"logs", LogsCommand, "print what the agents logged"},
    {"doctor", DoctorCommand, "look for what would keep jobs from running"},
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
    line.resize(12, ' ');
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
  if (program == "mpirun" || program == "mpiexec" || program == "prterun") {
    return RunCommand({program, args});
  }
  if (args.empty()) {
    (void)WriteAll(STDERR_FILENO, HelpText());
    return kExitUsage;
  }
  const std::string& name = args[0];
  if (name == "--help" || name == "-h" || name == "help") {
    return WriteAll(STDOUT_FILENO, HelpText()) ? 0 : kExitFailure;
  }
  if (name == "--version" || name == "-V" || name == "version") {
    return WriteAll(STDOUT_FILENO, std::string("canopy ") + kVersion + "\n")
               ? 0
               : kExitFailure;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) {
      return command.function({"canopy", args.subspan(1)});
    }
  }
  return UnknownCommand(name);
}

// Descriptors 0 to 2 are ours to give a meaning only if they came from outside,
// and what came from outside is not closed on exec. Where a shell closed one, a
// library may have got it for itself before main: then we start again with
// /dev/null there.
void OpenStandardStreams(char** argv) {
  bool closed = false;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) continue;
    const int null = open("/dev/null", O_RDWR);
    if (null < 0) return;
    if (null != fd) {
      dup2(null, fd);
      close(null);
    }
    closed = true;
  }
  if (closed) execv("/proc/self/exe", argv);
}

// "/usr/bin/canopy-mpirun" is called mpirun.
std::string ProgramName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  constexpr std::string_view kOurs = "canopy-";
  if (path.starts_with(kOurs)) path.remove_prefix(kOurs.size());
  return std::string(path);
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  using namespace canopy::cli;  // NOLINT
  OpenStandardStreams(argv);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string program = argc > 0 ? ProgramName(argv[0]) : "canopy";
  // Threads that are left behind must not see our static objects go.
  _exit(Dispatch(program, args));
}
