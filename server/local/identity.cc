#include "server/local/identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/hex.h"

namespace canopy::local {
namespace {

// The limit of the search for an ancestor.
constexpr int kMaxAncestors = 64;

// Returns 0 if there is no such process.
int ParentOf(int pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return 0;
  char text[512];
  const ssize_t n = read(fd.get(), text, sizeof text - 1);
  if (n <= 0) return 0;
  text[n] = '\0';
  // The program's name, in parentheses, may contain any character.
  const char* end_of_name = std::strrchr(text, ')');
  int parent = 0;
  if (end_of_name == nullptr ||
      std::sscanf(end_of_name + 1, " %*c %d", &parent) != 1) {
    return 0;
  }
  return parent;
}

bool IsDescendant(int pid, int ancestor) {
  for (int i = 0; pid > 1 && i < kMaxAncestors; ++i) {
    if (pid == ancestor) return true;
    pid = ParentOf(pid);
  }
  return false;
}

}  // namespace

bool SameToken(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

Status HostIdentityPolicy::Check(const PeerCredentials& peer,
                                 const RegisteredProcess& process,
                                 std::string_view token) {
  if (peer.uid != process.uid) {
    return Status(kErrInvalidCred, "uid " + std::to_string(peer.uid) +
                                       " is not the job's, " +
                                       std::to_string(process.uid));
  }
  if (SameToken(token, process.token)) return Status();
  // The pid may have been reused unless the process that connected is still
  // alive.
  if (process.pid > 0 && peer.pid > 0 && IsDescendant(peer.pid, process.pid) &&
      IsAlive(peer.pidfd)) {
    return Status();
  }
  return Status(kErrInvalidCred,
                "process " + std::to_string(peer.pid) +
                    " neither knows the rank's token nor descends from its "
                    "process");
}

std::string MakeToken() {
  char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random) return "";
  return ToHex(std::string_view(random, sizeof random));
}

}  // namespace canopy::local
