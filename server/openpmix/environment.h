// Environment variables by which a program's own OpenPMIx library finds the
// agent.
#ifndef CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_
#define CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "common/ids.h"

namespace canopy::openpmix {

// NAME=VALUE, the same for every rank; beside PMIX_NAMESPACE, PMIX_RANK and
// PMIX_HOSTNAME, which all kinds of clients read. `address` is "a.b.c.d:port"
// or "[addr]:port".
std::vector<std::string> ServerEnvironment(const ProcId& server,
                                           const std::string& address);

// "nspace.rank;tcp4://address": what a tool takes with --uri.
std::string ServerUri(const ProcId& server, const std::string& address);

// Variables of another server that a process must not inherit, beside those
// that all kinds of clients read. A name that ends in '*' stands for all that
// begin so.
const std::vector<std::string>& UnsetNames();

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_ENVIRONMENT_H_
