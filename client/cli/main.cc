// The small canopy program: runs jobs on the agents of this machine, and
// executes canopy-full, in the same directory, for all other work, because
// loading gRPC and OpenSSL takes as long as running a short job.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/startup.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/run/run_command.h"

namespace canopy::cli {
namespace {

// Executes the command. Returns no value if the command needs canopy-full.
std::optional<int> Dispatch(const std::string& program,
                            std::span<const std::string> args) {
  if (IsRunName(program)) return RunCommand({program, args}, nullptr);
  if (args.empty()) return std::nullopt;
  if (IsVersionWord(args[0])) return PrintVersion();
  if (args[0] != "run") return std::nullopt;
  return RunCommand({"canopy", args.subspan(1)}, nullptr);
}

int ExecuteFull(char** argv) {
  const std::string path = ProgramBeside("CANOPY_FULL", "canopy-full");
  execv(path.c_str(), argv);
  PrintError("cannot run " + path + ": " + std::strerror(errno));
  return errno == ENOENT ? kExitNotFound : kExitNotExecutable;
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  using namespace canopy::cli;  // NOLINT
  OpenStandardStreams(argv);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string program = argc > 0 ? ProgramName(argv[0]) : "canopy";
  const std::optional<int> code = Dispatch(program, args);
  // Threads that RunJob leaves behind must not use destroyed static objects.
  _exit(code ? *code : ExecuteFull(argv));
}
