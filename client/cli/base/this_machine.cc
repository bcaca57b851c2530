#include "client/cli/base/this_machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/posix/boot_id.h"
#include "common/posix/private_dir.h"

namespace canopy::cli {
namespace {

bool SameAddress(const sockaddr* a, const sockaddr* b) {
  if (a == nullptr || b == nullptr || a->sa_family != b->sa_family) {
    return false;
  }
  if (a->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(b)->sin_addr.s_addr;
  }
  if (a->sa_family != AF_INET6) return false;
  return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

bool IsOwnAddress(const sockaddr* address, const ifaddrs* own) {
  if (address->sa_family == AF_INET &&
      ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >>
              24 ==
          IN_LOOPBACKNET) {
    return true;
  }
  for (const ifaddrs* i = own; i != nullptr; i = i->ifa_next) {
    if (SameAddress(i->ifa_addr, address)) return true;
  }
  return false;
}

bool ResolvesToUs(const std::string& host) {
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  ifaddrs* own = nullptr;
  if (getifaddrs(&own) != 0) own = nullptr;
  bool ours = false;
  for (const addrinfo* i = found; i != nullptr && !ours; i = i->ai_next) {
    ours = IsOwnAddress(i->ai_addr, own);
  }
  freeifaddrs(own);
  freeaddrinfo(found);
  return ours;
}

}  // namespace

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') {
    return "localhost";
  }
  return name;
}

bool IsThisMachine(const std::string& host) {
  if (host == "localhost") return true;
  const std::string own = HostName();
  if (host == own || host == own.substr(0, own.find('.')) ||
      own == host.substr(0, host.find('.'))) {
    return true;
  }
  return ResolvesToUs(host);
}

bool IsThisMachineNow(const std::string& machine) {
  const std::string boot = BootId();
  return !boot.empty() && machine.ends_with("/" + boot);
}

std::string ProgramBeside(const char* variable, const std::string& name) {
  const char* const said = std::getenv(variable);
  if (said != nullptr && *said != '\0') return said;
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, n > 0 ? static_cast<size_t>(n) : 0);
  return path.substr(0, path.rfind('/') + 1) + name;
}

Result<std::string> MakePrivateDirectory() {
  std::string path = RuntimeBase() + "/canopy-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Status(kErrNoPermissions, "cannot make a directory below " +
                                         RuntimeBase() + ": " +
                                         std::strerror(errno));
  }
  return path;
}

}  // namespace canopy::cli
