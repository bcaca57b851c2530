// Default addresses of an agent.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_
#define CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_

#include <string>

namespace canopy::agent {

// Name of this machine, from gethostname.
std::string HostName();

// The first address of an interface that is up and not loopback, IPv4 before
// IPv6, link-local ones left out; "127.0.0.1" when there is none.
std::string OwnAddress();

// A text that is the same for agents on one machine and different otherwise.
std::string MachineId();

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_ADDRESSES_H_
