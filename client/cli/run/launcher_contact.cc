#include "client/cli/run/launcher_contact.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/base/this_machine.h"
#include "common/launcher_orders_env.h"
#include "common/posix/host_name.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxFile = 4096;
constexpr int kLingerMs = 1000;

std::string Take(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

Status NoPipe(const std::string& text) {
  return Status(kErrBadParam, "PMIX_KEEPALIVE_PIPE=" + text +
                                  " is not a pipe: " + std::strerror(errno));
}

// Returns true if the pipe's other end is closed now or within `timeout_ms`.
bool HasEnded(int fd, int timeout_ms) {
  pollfd entry = {fd, 0, 0};
  return poll(&entry, 1, timeout_ms) > 0;
}

}  // namespace

LauncherContact::LauncherContact()
    : path_(Take("PMIX_LAUNCHER_RNDZ_FILE")),
      pipe_(Take("PMIX_KEEPALIVE_PIPE")),
      orders_(Take(kEnvLauncherOrders)) {}

// No data is written to the pipe, so a signal from it means that it is closed.
Status LauncherContact::Watch() {
  if (pipe_.empty()) return Status();
  int fd = -1;
  const char* const end = pipe_.data() + pipe_.size();
  const auto parsed = std::from_chars(pipe_.data(), end, fd);
  if (parsed.ec != std::errc() || parsed.ptr != end) fd = -1;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETSIG, SIGTERM) != 0 ||
      fcntl(fd, F_SETFL, flags | O_ASYNC) != 0) {
    return NoPipe(pipe_);
  }
  fd_ = fd;
  if (HasEnded(fd, 0)) kill(getpid(), SIGTERM);
  return Status();
}

void LauncherContact::AwaitTool() const {
  if (fd_ >= 0 && written_) (void)HasEnded(fd_, kLingerMs);
}

Status LauncherContact::Write(const std::string& content) {
  const Status status = MakeFile(path_, content);
  struct stat info = {};
  if (!status.ok() || lstat(path_.c_str(), &info) != 0) return status;
  written_ = true;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return Status();
}

LauncherContact::~LauncherContact() {
  struct stat info = {};
  if (!written_ || lstat(path_.c_str(), &info) != 0) return;
  if (info.st_dev == device_ && info.st_ino == inode_) unlink(path_.c_str());
}

Status LauncherContact::Tell(const std::vector<std::string>& runtime_dirs) {
  if (path_.empty()) return Status();
  const std::string name = "/pmix." + LocalHostName() + ".tool";
  for (const std::string& directory : runtime_dirs) {
    const Result<std::string> content = ReadFile(directory + name, kMaxFile);
    if (!content.ok()) continue;
    directory_ = directory;
    return Write(*content);
  }
  return Status(
      kErrNotFound,
      "no agent is on this machine for the tool that waits for " + path_);
}

bool LauncherContact::ToolHasEnded() const {
  return fd_ >= 0 && HasEnded(fd_, 0);
}

Result<std::vector<std::string>> LauncherContact::AwaitOrders(
    bool serves, const StopSource& stop) const {
  std::vector<std::string> options;
  if (directory_.empty() || (orders_.empty() && !serves)) return options;
  const std::string program = ProgramBeside("CANOPY_TOOL", "canopy-tool");
  std::vector<std::string> words = {program, directory_};
  if (orders_.empty()) {
    // A tool with another PMIx library waits for this event.
    words.insert(words.end(), {"event", "", "", "PMIX_LAUNCHER_READY", ""});
  } else {
    words.insert(words.end(), {"launch", orders_, serves ? "serve" : "run"});
  }
  const auto output = RunProgramUntil(program, std::move(words), stop);
  if (!output.ok()) return output.status();
  if (output->status != 0) {
    return Status(
        kErrNotSupported,
        "cannot follow the directives of the tool that started this launcher");
  }
  for (const std::string& option : Split(output->text, '\0')) {
    options.push_back(option);
  }
  // The list ends with a NUL, so the last entry is empty.
  if (!options.empty()) options.pop_back();
  return options;
}

}  // namespace canopy::cli
