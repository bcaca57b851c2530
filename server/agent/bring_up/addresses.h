// The default addresses of an agent.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_
#define CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_

#include <string>

namespace canopy::agent {

// Returns the name of this machine, from gethostname.
std::string HostName();

// Returns the first address of an interface that is up and not loopback.
// Addresses of IPv4 come before those of IPv6; link-local ones are skipped.
// Returns "127.0.0.1" if there is none.
std::string OwnAddress();

// Returns a text that agents on the same machine share and that differs between
// machines.
std::string MachineId();

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_
