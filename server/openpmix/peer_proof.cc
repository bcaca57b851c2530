#include "server/openpmix/peer_proof.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

// The limit for the processes of one tree that are searched.
constexpr size_t kMaxTree = 1024;

// ------------------------------------------------------------- processes ---

// Returns the pid that `text` consists of, or 0 if it is not a pid.
int ToPid(const char* text) {
  char* end = nullptr;
  const long pid = std::strtol(text, &end, 10);
  return *end == '\0' && pid > 0 && pid < INT32_MAX ? static_cast<int>(pid) : 0;
}

std::string ReadAll(const std::string& path) {
  std::string text;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  for (ssize_t n; fd && (n = read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > sizeof buffer * kMaxTree) break;
  }
  return text;
}

void AddNumbers(const std::string& text, std::vector<int>* numbers) {
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 0 && pid < INT32_MAX) numbers->push_back(static_cast<int>(pid));
    at = end;
    while (*at == ' ' || *at == '\n') ++at;
  }
}

// Returns 0 if there is no such process.
int ParentOf(int pid) {
  const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  // The program's name, in parentheses, may contain any character.
  const size_t end_of_name = stat.rfind(')');
  int parent = 0;
  if (end_of_name == std::string::npos ||
      std::sscanf(stat.c_str() + end_of_name + 1, " %*c %d", &parent) != 1) {
    return 0;
  }
  return parent;
}

// Searches one process tree for a socket. The peer that is to be identified
// controls the tree, and the search runs in the agent's loop, so the whole
// search is bounded.
class TreeSearch {
 public:
  TreeSearch(uint64_t inode, bool lists_children, int max_lookups)
      : wanted_("socket:[" + std::to_string(inode) + "]"),
        lists_children_(lists_children),
        left_(max_lookups) {}

  bool Find(int root) {
    std::vector<int> tree = {root};
    std::set<int> seen = {root};
    for (size_t i = 0; i < std::min(tree.size(), kMaxTree); ++i) {
      if (HasSocketOpen(tree[i])) return true;
      for (const int child :
           lists_children_ ? ChildrenOf(tree[i]) : SearchChildrenOf(tree[i])) {
        if (seen.insert(child).second) tree.push_back(child);
      }
    }
    return false;
  }

 private:
  // Returns the next entry, and counts it against the limit, because the caller
  // needs at least one system call to examine it. Returns null at the end, and
  // when the limit is reached.
  const dirent* Next(DIR* directory) {
    if (left_ <= 0) return nullptr;
    --left_;
    return readdir(directory);
  }

  bool HasSocketOpen(int pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd";
    DIR* const directory = opendir(path.c_str());
    if (directory == nullptr) return false;
    bool found = false;
    while (!found) {
      const dirent* entry = Next(directory);
      if (entry == nullptr) break;
      char target[64];
      const ssize_t n =
          readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
      found =
          n > 0 && std::string_view(target, static_cast<size_t>(n)) == wanted_;
    }
    closedir(directory);
    return found;
  }

  std::vector<int> ChildrenOf(int pid) {
    std::vector<int> children;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    DIR* const directory = opendir(tasks.c_str());
    if (directory == nullptr) return children;
    while (const dirent* entry = Next(directory)) {
      if (ToPid(entry->d_name) == 0) continue;
      AddNumbers(ReadAll(tasks + "/" + entry->d_name + "/children"), &children);
      if (children.size() > kMaxTree) break;
    }
    closedir(directory);
    return children;
  }

  // Searches for the children in /proc, for kernels that do not list the
  // children of a process.
  std::vector<int> SearchChildrenOf(int pid) {
    std::vector<int> children;
    DIR* const directory = opendir("/proc");
    if (directory == nullptr) return children;
    while (const dirent* entry = Next(directory)) {
      const int other = ToPid(entry->d_name);
      if (other != 0 && ParentOf(other) == pid) children.push_back(other);
    }
    closedir(directory);
    return children;
  }

  const std::string wanted_;
  const bool lists_children_;
  int left_;
};

class HostPeerProof : public PeerProof {
 public:
  explicit HostPeerProof(int max_lookups)
      : max_lookups_(max_lookups),
        lists_children_(access("/proc/thread-self/children", R_OK) == 0) {}

  Result<SocketOwner> OwnerOf(int fd) override { return owners_.OwnerOf(fd); }

  bool IsHeldBy(const SocketOwner& owner, int pid) override {
    return TreeSearch(owner.inode, lists_children_, max_lookups_).Find(pid);
  }

 private:
  const int max_lookups_;
  const net::SocketOwners owners_;
  const bool lists_children_;
};

}  // namespace

std::unique_ptr<PeerProof> MakeHostPeerProof(int max_lookups) {
  return std::make_unique<HostPeerProof>(max_lookups);
}

}  // namespace canopy::openpmix
