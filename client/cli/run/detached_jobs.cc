#include "client/cli/run/detached_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "common/posix/private_dir.h"
#include "common/posix/read_to_end.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxRecord = 64;
constexpr size_t kMaxShown = size_t{1} << 20;

Status Failed(const std::string& what) {
  return Status(kErrJobSysOpFailed, what + ": " + strerror(errno));
}

// Redirects the launcher's own streams. Returns false and sets errno on
// failure.
bool RedirectStreams(int output) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return null && dup2(null.get(), STDIN_FILENO) >= 0 &&
         dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
}

}  // namespace

DetachedJobs::DetachedJobs() : DetachedJobs(UserRuntimeDir() + "/detached") {}

DetachedJobs::DetachedJobs(std::string directory)
    : directory_(std::move(directory)) {}

std::string DetachedJobs::PathOf(const std::string& nspace,
                                 const char* kind) const {
  std::string name = nspace;
  for (char& c : name) {
    if (c == '/') c = '_';
  }
  return directory_ + "/" + name + kind;
}

std::string DetachedJobs::OutputPath(const std::string& nspace) const {
  return PathOf(nspace, ".output");
}

Status DetachedJobs::Prepare() const {
  const std::string parent = directory_.substr(0, directory_.rfind('/'));
  if (Status s = MakePrivateDir(parent); !s.ok()) return s;
  return MakePrivateDir(directory_);
}

Status DetachedJobs::NoteJob(const std::string& nspace, pid_t pid) const {
  const std::string number = std::to_string(pid);
  if (rename(OutputPath(number).c_str(), OutputPath(nspace).c_str()) != 0) {
    return Failed("cannot name the output of job " + nspace);
  }
  return MakeFile(PathOf(nspace, ".launcher"), number);
}

Status DetachedJobs::NoteEnd(const std::string& nspace, int exit_code) const {
  return MakeFile(PathOf(nspace, ".end"), std::to_string(exit_code));
}

Result<DetachedJobs::Job> DetachedJobs::Find(const std::string& nspace) const {
  const Status none(kErrNotFound, "job " + nspace +
                                      " was not started with --detach on "
                                      "this machine");
  if (Status s = CheckPrivateDir(directory_); !s.ok()) return none;
  Result<std::string> launcher =
      ReadFile(PathOf(nspace, ".launcher"), kMaxRecord);
  if (!launcher.ok()) return none;
  Job job;
  job.launcher =
      static_cast<pid_t>(ParseNumber(*launcher, INT32_MAX).value_or(0));
  Result<std::string> end = ReadFile(PathOf(nspace, ".end"), kMaxRecord);
  if (!end.ok()) return job;
  if (const auto code = ParseNumber(*end, UINT8_MAX)) {
    job.exit_code = static_cast<int>(*code);
  }
  return job;
}

void DetachedJobs::Forget(const std::string& nspace) const {
  for (const char* kind : {".launcher", ".end"}) {
    (void)unlink(PathOf(nspace, kind).c_str());
  }
  // An empty output file is not worth keeping.
  const std::string output = OutputPath(nspace);
  struct stat info;
  if (stat(output.c_str(), &info) == 0 && info.st_size == 0) {
    (void)unlink(output.c_str());
  }
  (void)rmdir(directory_.c_str());
}

Result<Detachment> Detach(const DetachedJobs& jobs) {
  if (Status s = jobs.Prepare(); !s.ok()) return s;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Failed("cannot make a pipe");
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const pid_t pid = fork();
  if (pid < 0) return Failed("cannot start a process");
  if (pid > 0) return Detachment{false, std::move(reader), pid};
  setsid();
  const std::string path = jobs.OutputPath(std::to_string(getpid()));
  const UniqueFd output(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output || !RedirectStreams(output.get())) {
    return Failed("cannot write " + path);
  }
  return Detachment{true, std::move(writer), getpid()};
}

int AwaitName(const DetachedJobs& jobs, const Detachment& detachment) {
  const std::string name = ReadToEnd(detachment.name.get());
  if (!name.empty()) return WriteAll(STDOUT_FILENO, name) ? 0 : kExitFailure;
  int status = 0;
  while (waitpid(detachment.launcher, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string path = jobs.OutputPath(std::to_string(detachment.launcher));
  Result<std::string> said = ReadFile(path, kMaxShown);
  if (said.ok()) (void)WriteAll(STDERR_FILENO, *said);
  (void)unlink(path.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status)
                                                       : kExitFailure;
}

}  // namespace canopy::cli
