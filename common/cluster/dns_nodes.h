// The addresses of a DNS name, as nodes of a cluster.
#ifndef CANOPY_COMMON_CLUSTER_DNS_NODES_H_
#define CANOPY_COMMON_CLUSTER_DNS_NODES_H_

#include <string>
#include <vector>

#include "common/status.h"

namespace canopy {

// Returns all addresses of a name (records A and AAAA), each once, those of
// IPv4 first, in the order of their numbers. So all machines have the same
// order. Link-local addresses are left out. Returns no addresses if the name
// does not exist or has none now, and kErrUnreach if no server answers. Blocks
// until then.
Result<std::vector<std::string>> AddressesOf(const std::string& name);

// Returns true if a program of this machine can listen at the address, a number
// of IPv4 or IPv6.
bool IsAddressOfThisMachine(const std::string& address);

}  // namespace canopy

#endif  // CANOPY_COMMON_CLUSTER_DNS_NODES_H_
