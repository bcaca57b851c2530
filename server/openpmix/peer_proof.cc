#include "server/openpmix/peer_proof.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
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

// A rank's process tree beyond this is not searched.
constexpr size_t kMaxTree = 1024;

struct Endpoint {
  sa_family_t family = AF_UNSPEC;
  in_port_t port = 0;  // network order
  uint32_t address[4] = {};
};

std::optional<Endpoint> ToEndpoint(const sockaddr_storage& storage) {
  Endpoint out;
  out.family = storage.ss_family;
  if (storage.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage);
    out.port = in->sin_port;
    out.address[0] = in->sin_addr.s_addr;
    return out;
  }
  if (storage.ss_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(&storage);
    out.port = in->sin6_port;
    std::memcpy(out.address, &in->sin6_addr, sizeof out.address);
    return out;
  }
  return std::nullopt;
}

// ------------------------------------------------------------- sock_diag ---

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

// The socket that is at `peer` and connected to `own`.
DiagRequest MakeDiagRequest(const Endpoint& peer, const Endpoint& own) {
  DiagRequest request = {};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(peer.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = UINT32_MAX;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = peer.port;
  id.idiag_dport = own.port;
  std::memcpy(id.idiag_src, peer.address, sizeof peer.address);
  std::memcpy(id.idiag_dst, own.address, sizeof own.address);
  id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// kErrNotSupported when this kernel does not answer such questions.
Result<SocketOwner> AskSockDiag(int diag, const Endpoint& peer,
                                const Endpoint& own) {
  const DiagRequest request = MakeDiagRequest(peer, own);
  if (send(diag, &request, sizeof request, 0) != sizeof request) {
    return Status(kErrNotSupported);
  }
  alignas(nlmsghdr) char buffer[8192];
  const ssize_t n = recv(diag, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 ||
      !NLMSG_OK(reinterpret_cast<nlmsghdr*>(buffer), static_cast<size_t>(n))) {
    return Status(kErrNotSupported);
  }
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer);
  if (header->nlmsg_type == NLMSG_ERROR) {
    const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
    return Status(error->error == -ENOENT &&
                          header->nlmsg_len >= NLMSG_LENGTH(sizeof(int))
                      ? kErrNotFound
                      : kErrNotSupported);
  }
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      header->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) {
    return Status(kErrNotSupported);
  }
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  if (found->idiag_inode == 0) return Status(kErrNotFound);
  return SocketOwner{found->idiag_uid, found->idiag_inode};
}

// --------------------------------------------------------- /proc/net/tcp ---

// An address as the kernel prints it there.
std::string Printed(const Endpoint& e) {
  char text[64];
  if (e.family == AF_INET) {
    std::snprintf(text, sizeof text, "%08X:%04X", e.address[0], ntohs(e.port));
  } else {
    std::snprintf(text, sizeof text, "%08X%08X%08X%08X:%04X", e.address[0],
                  e.address[1], e.address[2], e.address[3], ntohs(e.port));
  }
  return text;
}

Result<SocketOwner> SearchProcNet(const Endpoint& peer, const Endpoint& own) {
  const bool v4 = peer.family == AF_INET;
  FILE* file = std::fopen(v4 ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
  if (file == nullptr) return Status(kErrNotSupported);
  const std::string local = Printed(peer);
  const std::string remote = Printed(own);
  Result<SocketOwner> result = Status(kErrNotFound);
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    char a[64];
    char b[64];
    unsigned uid = 0;
    uint64_t inode = 0;
    const int n = std::sscanf(
        line, " %*d: %63s %63s %*x %*x:%*x %*x:%*x %*x %u %*d %" SCNu64, a, b,
        &uid, &inode);
    if (n == 4 && inode != 0 && local == a && remote == b) {
      result = SocketOwner{uid, inode};
      break;
    }
  }
  std::fclose(file);
  return result;
}

// ------------------------------------------------------------- processes ---

// The number in `text` up to the end, or 0.
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

// 0 when there is no such process.
int ParentOf(int pid) {
  const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  // The program's name, in parentheses, may hold anything.
  const size_t end_of_name = stat.rfind(')');
  int parent = 0;
  if (end_of_name == std::string::npos ||
      std::sscanf(stat.c_str() + end_of_name + 1, " %*c %d", &parent) != 1) {
    return 0;
  }
  return parent;
}

// The search of one process tree for a socket. The tree is made by whoever
// wants to be known, and is searched in the agent's loop: so the search is
// bounded as a whole.
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
  // The next entry, each of which costs a call of the kernel. Null: there is
  // none, or enough were looked at.
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

  // For kernels that do not list the children of a process.
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
        diag_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)),
        lists_children_(access("/proc/thread-self/children", R_OK) == 0) {}

  Result<SocketOwner> OwnerOf(int fd) override {
    sockaddr_storage peer = {};
    sockaddr_storage own = {};
    socklen_t peer_size = sizeof peer;
    socklen_t own_size = sizeof own;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) {
      return Status(kErrNotFound, "the connection is gone");
    }
    const auto theirs = ToEndpoint(peer);
    const auto ours = ToEndpoint(own);
    if (!theirs || !ours) return Status(kErrNotFound, "not a TCP connection");
    if (diag_) {
      Result<SocketOwner> owner = AskSockDiag(diag_.get(), *theirs, *ours);
      if (owner.code() != kErrNotSupported) return owner;
    }
    return SearchProcNet(*theirs, *ours);
  }

  bool IsHeldBy(const SocketOwner& owner, int pid) override {
    return TreeSearch(owner.inode, lists_children_, max_lookups_).Find(pid);
  }

 private:
  const int max_lookups_;
  UniqueFd diag_;
  const bool lists_children_;
};

}  // namespace

std::unique_ptr<PeerProof> MakeHostPeerProof(int max_lookups) {
  return std::make_unique<HostPeerProof>(max_lookups);
}

}  // namespace canopy::openpmix
