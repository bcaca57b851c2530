// State of one connection of the endpoint.
#ifndef CANOPY_SERVER_LOCAL_CONNECTION_H_
#define CANOPY_SERVER_LOCAL_CONNECTION_H_

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/ids.h"
#include "server/endpoint/connection_table.h"
#include "server/net/source.h"

namespace canopy::local {

struct PendingGet {
  ProcId target;
  bool stored = true;  // a segment may contain the value
};

struct Connection : endpoint::Connection {
  net::Source source;       // the peer, as the kernel reports it
  bool identified = false;  // ClientConnected was sent to the core
  bool asked = false;       // LocalOptions::ask is deciding about its welcome
  bool is_tool = false;
  bool relayed = false;  // comes from another machine
  std::string pod;       // of the peer; empty: a process of this machine
  uint32_t uid = 0;      // uid of a tool
  uint32_t gid = 0;      // gid of a tool
  ProcId proc;           // valid if identified or counted
  bool counted = false;  // counts towards its rank's limit
  int mailbox = -1;      // index of the client's commit mailbox; -1: none
  // Tags of pending fences over the whole job.
  std::vector<uint64_t> fences;
  std::unordered_map<uint64_t, PendingGet> gets;  // by tag
  std::unordered_set<uint64_t> spawns;            // tags of pending spawns
  // For each pending connect, by tag: the other jobs that the connect concerns.
  std::unordered_map<uint64_t, std::set<std::string>> connects;
  std::set<std::string> segments;  // namespaces whose segment the client has
  // Namespaces for which the agent has sent a copy of the segment to a relayed
  // client.
  std::set<std::string> copies;
  bool reattached = false;  // the client has reported its collectives

  bool serving() const { return identified && !ending; }
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_CONNECTION_H_
