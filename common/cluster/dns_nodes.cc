#include "common/cluster/dns_nodes.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "common/name_ranges.h"
#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

// IPv4 before IPv6, and then the bytes of the address.
using AddressKey = std::pair<bool, std::string>;

struct Free {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, Free>;

addrinfo Hints(int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  return hints;
}

// Adds an address to the set, unless it is link-local.
void Add(const sockaddr* address, std::set<AddressKey>* to) {
  if (address->sa_family == AF_INET) {
    const auto* const in = reinterpret_cast<const sockaddr_in*>(address);
    to->emplace(false, std::string(reinterpret_cast<const char*>(&in->sin_addr),
                                   sizeof in->sin_addr));
  } else if (address->sa_family == AF_INET6) {
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) return;
    to->emplace(true, std::string(reinterpret_cast<const char*>(&in->sin6_addr),
                                  sizeof in->sin6_addr));
  }
}

std::string TextOf(const AddressKey& key) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(key.first ? AF_INET6 : AF_INET, key.second.data(), text,
            sizeof text);
  return text;
}

}  // namespace

Result<std::vector<std::string>> AddressesOf(const std::string& name) {
  const addrinfo hints = Hints(0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error == EAI_NONAME || error == EAI_NODATA) {
    return std::vector<std::string>();
  }
  if (error != 0) {
    const char* const reason =
        error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
    return Status(kErrUnreach,
                  "cannot look up the addresses of '" + name + "': " + reason);
  }
  const AddressList list(found);
  std::set<AddressKey> addresses;
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) {
    if (addresses.size() < kMaxListedNames) Add(i->ai_addr, &addresses);
  }
  std::vector<std::string> texts;
  for (const AddressKey& key : addresses) texts.push_back(TextOf(key));
  return texts;
}

bool IsAddressOfThisMachine(const std::string& address) {
  const addrinfo hints = Hints(AI_NUMERICHOST | AI_PASSIVE);
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  const AddressList list(found);
  const UniqueFd socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0;
}

}  // namespace canopy
