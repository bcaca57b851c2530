#include "server/agent/bring_up/runtime_dir.h"

#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/posix/private_dir.h"
#include "common/posix/run_dir.h"

namespace canopy::agent {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Creates the last `levels` directories of `path`. Retries, because another
// agent that ends may remove a parent between two steps.
Status MakeAll(const std::string& path, int levels) {
  std::vector<std::string> all = {path};
  for (int i = 1; i < levels; ++i) {
    all.push_back(ParentOf(all.back()));
  }
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      status = MakePrivateDir(*it);
      if (!status.ok()) break;
    }
    if (status.code() != kErrNotFound) return status;
  }
  return status;
}

// Removes the files of a killed launcher from its run directory, unless an
// agent still has a directory there.
void RemoveLauncherFiles(const std::string& run_dir) {
  if (!CheckPrivateDir(run_dir).ok()) return;
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run_dir, error)) {
    if (entry.is_directory(error)) return;
    files.push_back(entry.path());
  }
  for (const fs::path& file : files) unlink(file.c_str());
}

}  // namespace

Result<RuntimeDir> RuntimeDir::Make(const std::string& path,
                                    const std::string& overlay_name,
                                    const std::string& node_name,
                                    bool remove_parent, bool searchable) {
  RuntimeDir dir;
  dir.levels_ = remove_parent ? 2 : 1;
  std::string next = path;
  int to_make = 1;
  const std::string own = "/canopy-" + std::to_string(geteuid()) + "/" +
                          overlay_name + "/" + node_name;
  // The end of the path shows that a predecessor of this agent has chosen it,
  // so the path's two parents are removed too.
  if (path.ends_with(own)) dir.levels_ = 3;
  if (remove_parent && IsRunDirPath(ParentOf(path))) {
    dir.levels_ = 3;
    dir.in_run_dir_ = true;
  }
  if (path.empty()) {
    next = RuntimeBase() + own;
    dir.levels_ = to_make = 3;
  }
  if (next.size() + kSocketNameRoom > sizeof(sockaddr_un::sun_path)) {
    return Status(kErrBadParam, next +
                                    " is too long for the sockets in it; set "
                                    "XDG_RUNTIME_DIR to a shorter directory");
  }
  Status status = searchable ? MakeSearchableDir(next) : MakeAll(next, to_make);
  if (!status.ok()) return status;
  dir.path_ = next;
  return dir;
}

RuntimeDir::RuntimeDir(RuntimeDir&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      levels_(other.levels_),
      in_run_dir_(other.in_run_dir_) {}

RuntimeDir::~RuntimeDir() {
  if (path_.empty()) return;
  // rmdir fails harmlessly for directories that other agents still use.
  std::string next = path_;
  for (int i = 0; i < levels_ && rmdir(next.c_str()) == 0; ++i) {
    next = ParentOf(next);
    if (i == 0 && in_run_dir_) RemoveLauncherFiles(next);
  }
}

}  // namespace canopy::agent
