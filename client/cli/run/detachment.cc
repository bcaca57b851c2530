#include "client/cli/run/detachment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json.h"
#include "common/posix/read_to_end.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxShown = size_t{1} << 20;

Status Failed(const std::string& what) {
  return Status(kErrJobSysOpFailed, what + ": " + strerror(errno));
}

// Redirects the launcher's standard streams. Returns false and sets errno on
// failure.
bool RedirectStreams(int output) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return null && dup2(null.get(), STDIN_FILENO) >= 0 &&
         dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
}

// Prints the name of the job. `line` is the name and a line feed.
int PrintName(const std::string& line, bool json) {
  std::string text = line;
  if (json) {
    Json document;
    document["job"] = Trim(line);
    text = DocumentText(document);
  }
  return PrintText(text);
}

}  // namespace

Result<Detachment> Detach(const OutputFile& output) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Failed("cannot make a pipe");
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const pid_t pid = fork();
  if (pid < 0) return Failed("cannot start a process");
  if (pid > 0) return Detachment{false, std::move(reader), pid};
  setsid();
  if (!RedirectStreams(output.fd())) {
    return Failed("cannot write " + output.path());
  }
  return Detachment{true, std::move(writer), getpid()};
}

int AwaitName(const OutputFile& output, const Detachment& detachment,
              bool json) {
  const std::string name = ReadToEnd(detachment.name.get());
  if (!name.empty()) return PrintName(name, json);
  int status = 0;
  while (waitpid(detachment.launcher, &status, 0) < 0 && errno == EINTR) {
  }
  const Result<std::string> said = ReadFile(output.path(), kMaxShown);
  if (said.ok()) (void)WriteAll(STDERR_FILENO, *said);
  output.Discard();
  return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status)
                                                       : kExitFailure;
}

}  // namespace canopy::cli
