// The request of a new agent for a place in a running overlay, which it sends
// to agents whose addresses it knows.
#ifndef CANOPY_SERVER_CONTROL_PLACE_QUERY_H_
#define CANOPY_SERVER_CONTROL_PLACE_QUERY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "protos/control.pb.h"
#include "server/security/credentials.h"

namespace canopy::control {

struct PlaceQuery {
  std::vector<std::string> addresses;  // HOST:PORT of control services
  // Returns the address of the control service of the agent whose links have
  // this address.
  std::function<std::string(const std::string& link_address)> control_of;
  std::string node;  // a bootstrap.NodeInfo with the agent's name
  security::SecurityConfig security;
};

// Finds the root of the overlay of the first agents that answer, and makes the
// node a member there (Control.AddNodes). Blocks for at most some seconds, more
// if there are many addresses. Returns kErrNotFound if no agent answers, and
// kErrUnreach, with the reason, if there is an overlay that gives no place now.
//
// Starts threads of gRPC, so it is called in a process of its own.
Result<v1::AddNodesReply> AskForPlace(const PlaceQuery& query);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PLACE_QUERY_H_
