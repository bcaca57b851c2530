#include "client/cli/agents/agent_leftovers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "common/posix/private_dir.h"
#include "common/posix/remove_tree.h"
#include "common/posix/unix_socket.h"

namespace canopy::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFiles = 1 << 20;

// Returns true if the directory is an agent's: agents create
// BASE/canopy-UID/OVERLAY/NODE as private directories.
bool IsAgents(const fs::path& directory) {
  const fs::path user = directory.parent_path().parent_path().filename();
  return user == kDirectoryPrefix + std::to_string(geteuid()) &&
         CheckPrivateDir(directory).ok();
}

// Returns true if the process is a shim of this user. A shim that is ending its
// job no longer listens, so it is found by its process name.
bool IsShim(const fs::path& process) {
  struct stat info;
  std::string name;
  std::ifstream(process / "comm") >> name;
  return name == "canopy-shim" && stat(process.c_str(), &info) == 0 &&
         info.st_uid == geteuid();
}

// Returns all arguments of this user's shims. They include the namespaces of
// the shims' jobs.
std::set<std::string> WordsOfShims() {
  std::set<std::string> words;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    if (!IsShim(process.path())) continue;
    std::ifstream line(process.path() / "cmdline");
    for (std::string word; std::getline(line, word, '\0');) words.insert(word);
  }
  return words;
}

// Returns true if a shim uses the directory, in which each job has a directory
// that is named after its namespace.
bool HasShim(const fs::path& directory) {
  const std::set<std::string> words = WordsOfShims();
  std::error_code error;
  const fs::directory_iterator entries(directory, error);
  return std::any_of(begin(entries), end(entries), [&](const auto& entry) {
    return words.contains(entry.path().filename());
  });
}

}  // namespace

bool AgentAnswersIn(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".sock" && ConnectUnix(entry.path()).ok()) {
      return true;
    }
  }
  return false;
}

Status RemoveAgentDirectory(const std::string& directory) {
  if (!IsAgents(directory)) return Status();
  if (AgentAnswersIn(directory) || HasShim(directory)) {
    return Status(kErrResourceBusy, directory + " is in use");
  }
  Status status = RemoveTree(directory, kMaxFiles);
  if (status.ok()) rmdir(fs::path(directory).parent_path().c_str());
  return status;
}

}  // namespace canopy::cli
