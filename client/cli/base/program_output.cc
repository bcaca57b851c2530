#include "client/cli/base/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "client/cli/base/spawn_program.h"
#include "common/posix/unique_fd.h"

namespace canopy::cli {
namespace {

struct Running {
  pid_t pid = 0;
  UniqueFd output;
};

Status Begin(const std::string& program, std::vector<std::string> argv,
             bool quiet, Running* running) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrJobSysOpFailed, strerror(errno));
  }
  running->output = UniqueFd(fds[0]);
  const UniqueFd writer(fds[1]);
  const int error = SpawnProgram(program, std::move(argv), writer.get(),
                                 {.quiet = quiet}, &running->pid);
  if (error == 0) return Status();
  return Status(kErrJobSysOpFailed,
                std::string("cannot start a process: ") + strerror(error));
}

// Waits for output of the program. Returns false if the program is to be
// stopped.
bool AwaitOutput(int fd, const StopSource& stop) {
  pollfd polls[2] = {{fd, POLLIN, 0}, {stop.fd, POLLIN, 0}};
  while (polls[0].revents == 0) {
    if (poll(polls, 2, -1) < 0) continue;
    if (polls[1].revents != 0 && stop.stops()) return false;
  }
  return true;
}

Result<ProgramOutput> Collect(const std::string& program, Running running,
                              const StopSource& stop) {
  ProgramOutput output;
  char piece[4096];
  for (ssize_t size = 1; size != 0;) {
    if (!AwaitOutput(running.output.get(), stop)) {
      kill(running.pid, SIGTERM);
      (void)AwaitEnd(running.pid);
      return Status(kErrJobCanceled, program + " was interrupted");
    }
    size = read(running.output.get(), piece, sizeof piece);
    if (size < 0 && errno != EINTR) break;
    if (size > 0) output.text.append(piece, static_cast<size_t>(size));
  }
  output.status = AwaitEnd(running.pid);
  return output;
}

}  // namespace

Result<ProgramOutput> RunProgram(const std::string& program,
                                 std::vector<std::string> argv, bool quiet) {
  Running running;
  const Status begun = Begin(program, std::move(argv), quiet, &running);
  if (!begun.ok()) return begun;
  return Collect(program, std::move(running), {});
}

Result<ProgramOutput> RunProgramUntil(const std::string& program,
                                      std::vector<std::string> argv,
                                      const StopSource& stop) {
  Running running;
  const Status begun =
      Begin(program, std::move(argv), /*quiet=*/false, &running);
  if (!begun.ok()) return begun;
  return Collect(program, std::move(running), stop);
}

}  // namespace canopy::cli
