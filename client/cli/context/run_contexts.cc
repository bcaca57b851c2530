#include "client/cli/context/run_contexts.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/cli/agents/agent_leftovers.h"
#include "client/cli/base/file_util.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_text.h"
#include "common/posix/dir_lock.h"
#include "common/posix/private_dir.h"
#include "common/posix/remove_tree.h"
#include "common/posix/run_dir.h"
#include "common/posix/unique_fd.h"

namespace canopy::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxEntries = 1 << 20;

bool HasAgent(const std::string& run_dir) {
  std::error_code error;
  const fs::directory_iterator entries(run_dir, error);
  return std::any_of(begin(entries), end(entries), [&](const auto& entry) {
    return entry.is_directory(error) && AgentAnswersIn(entry.path());
  });
}

// Removes the run directory if its run is over. Returns false if the run is not
// over. The lock prevents a new run from using the name meanwhile.
bool RemoveIfOver(const std::string& run_dir) {
  UniqueFd fd;
  const DirLock lock = LockDir(run_dir, &fd);
  if (lock == DirLock::kGone) return true;
  if (lock != DirLock::kLocked || HasAgent(run_dir)) return false;
  (void)RemoveTree(run_dir, kMaxEntries);
  // rmdir fails harmlessly if the user's directory is not empty.
  rmdir(fs::path(run_dir).parent_path().c_str());
  return true;
}

}  // namespace

RunContexts::RunContexts() : RunContexts(UserRuntimeDir()) {}

RunContexts::RunContexts(std::string directory)
    : directory_(std::move(directory)) {}

std::vector<std::string> RunContexts::Directories(size_t limit) const {
  std::vector<std::string> names;
  DIR* const dir = opendir(directory_.c_str());
  if (dir == nullptr) return names;
  while (names.size() < limit) {
    const dirent* const entry = readdir(dir);
    if (entry == nullptr) break;
    if (IsRunDirName(entry->d_name)) names.emplace_back(entry->d_name);
  }
  closedir(dir);
  return names;
}

Result<std::vector<std::string>> RunContexts::List() const {
  const Status status = CheckPrivateDir(directory_);
  if (status.code() == kErrNotFound) return std::vector<std::string>();
  if (!status.ok()) return status;
  std::vector<std::string> names = Directories(SIZE_MAX);
  std::erase_if(names, [this](const std::string& name) {
    const std::string run_dir = directory_ + "/" + name;
    return RemoveIfOver(run_dir) ||
           access((run_dir + kRunContextFile).c_str(), F_OK) != 0;
  });
  std::ranges::sort(names);
  return names;
}

Result<v1::Context> RunContexts::Load(const std::string& name) const {
  const std::string run_dir = directory_ + "/" + name;
  if (!IsRunDirName(name)) {
    return Status(kErrNotFound, "there is no run '" + name + "'");
  }
  for (const std::string& path : {directory_, run_dir}) {
    if (Status status = CheckPrivateDir(path); !status.ok()) return status;
  }
  const std::string path = run_dir + kRunContextFile;
  Result<std::string> text = ReadFile(path, kMaxContextFile);
  if (!text.ok()) {
    return Status(text.code(), "context " + text.status().message());
  }
  Result<v1::Context> context = ContextOf(*text);
  if (!context.ok()) {
    return Status(kErrUnpackFailure, "context file " + path + " is damaged");
  }
  return context;
}

void RunContexts::Sweep(size_t limit) const {
  if (!CheckPrivateDir(directory_).ok()) return;
  for (const std::string& name : Directories(limit)) {
    (void)RemoveIfOver(directory_ + "/" + name);
  }
}

}  // namespace canopy::cli
