#include "client/cli/context/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_text.h"
#include "client/cli/context/run_contexts.h"
#include "common/posix/dir_lock.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"
#include "common/posix/run_dir.h"

namespace canopy::cli {
namespace {

constexpr int kAttempts = 100;
// Limits the time that a start spends on the leftovers of other runs.
constexpr size_t kMaxSwept = 64;

Status CannotMake(const std::string& path) {
  return Status(kErrNoPermissions,
                "cannot make " + path + ": " + std::strerror(errno));
}

}  // namespace

RunDirectory::RunDirectory(std::string path, UniqueFd lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

Result<RunDirectory> RunDirectory::Make(const std::string& parent) {
  RunContexts(parent).Sweep(kMaxSwept);
  std::string path;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    if (Status status = MakePrivateDir(parent); !status.ok()) return status;
    path = parent + "/" + RunDirName(getpid(), attempt);
    if (mkdir(path.c_str(), 0700) != 0) {
      // Another run uses the name, or another process has just removed the
      // parent directory.
      if (errno == EEXIST || errno == ENOENT) continue;
      return CannotMake(path);
    }
    UniqueFd fd;
    const DirLock lock = LockDir(path, &fd);
    // A command that removes leftovers may have locked or removed the directory
    // first.
    if (lock == DirLock::kBusy || lock == DirLock::kGone) continue;
    return RunDirectory(std::move(path), std::move(fd));
  }
  return CannotMake(path);
}

RunDirectory::~RunDirectory() {
  if (path_.empty()) return;
  // The last agent may have removed the directory, and another run may use the
  // name.
  std::error_code ignored;
  if (IsDirAt(lock_.get(), path_)) std::filesystem::remove_all(path_, ignored);
  // rmdir fails harmlessly if the directory is not empty.
  rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

std::string RunDirectory::name() const {
  return path_.substr(path_.rfind('/') + 1);
}

Status RunDirectory::Publish(const v1::Context& context) const {
  return MakeFile(path_ + kRunContextFile, ContextText(context));
}

Status RunDirectory::Update(const v1::Context& context) const {
  const std::string path = path_ + kRunContextFile;
  const std::string next = path + ".next";
  unlink(next.c_str());
  const Status status = MakeFile(next, ContextText(context));
  if (!status.ok()) return status;
  return rename(next.c_str(), path.c_str()) == 0 ? Status() : CannotMake(path);
}

void RunDirectory::Withdraw() const {
  unlink((path_ + kRunContextFile).c_str());
}

Status RunDirectory::OfferToTools(const std::string& agent_directory) const {
  const std::string name = "/pmix." + LocalHostName() + ".tool";
  const std::string own = path_ + name + "." + std::to_string(getpid());
  if (link((agent_directory + name).c_str(), own.c_str()) == 0) return Status();
  return Status(errno == ENOENT ? kErrNotFound : kErrNoPermissions,
                own + ": " + std::strerror(errno));
}

}  // namespace canopy::cli
