// Environment variables by which a program's own OpenPMIx library finds the
// agent.
#ifndef CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_
#define CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "common/ids.h"

namespace canopy::openpmix {

// Returns the NAME=VALUE entries that all ranks share, in addition to
// PMIX_NAMESPACE, PMIX_RANK and PMIX_HOSTNAME, which all kinds of clients read.
// `address` is "a.b.c.d:port" or "[addr]:port".
std::vector<std::string> ServerEnvironment(const ProcId& server,
                                           const std::string& address);

// Returns "nspace.rank;tcp4://address", the value for a tool's --uri.
std::string ServerUri(const ProcId& server, const std::string& address);

// Returns the names of variables that would lead a process to another server,
// in addition to those that all kinds of clients read. A process must not
// inherit them. A name that ends in '*' stands for all names with this prefix.
const std::vector<std::string>& UnsetNames();

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_
