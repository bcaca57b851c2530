#include "client/cli/base/program_output.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/posix/read_to_end.h"
#include "common/posix/unique_fd.h"

extern char** environ;

namespace canopy::cli {
namespace {

// The number of the error, or 0.
int Start(const std::string& program, std::vector<std::string>* words, int out,
          bool quiet, pid_t* pid) {
  std::vector<char*> argv;
  for (std::string& word : *words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (quiet) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(pid, program.c_str(), &actions, &attributes,
                                argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<ProgramOutput> RunProgram(const std::string& program,
                                 std::vector<std::string> argv, bool quiet) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrJobSysOpFailed, strerror(errno));
  }
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  pid_t pid = 0;
  const int error = Start(program, &argv, writer.get(), quiet, &pid);
  writer.Reset();
  if (error != 0) {
    return Status(kErrJobSysOpFailed,
                  std::string("cannot start a process: ") + strerror(error));
  }
  ProgramOutput output;
  output.text = ReadToEnd(reader.get());
  while (waitpid(pid, &output.status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

}  // namespace canopy::cli
