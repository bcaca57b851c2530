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
  bool stored = true;  // a segment may hold the value
};

struct Connection : endpoint::Connection {
  net::Source source;       // who has made it, by the kernel
  bool identified = false;  // ClientConnected was sent to the core
  bool asked = false;       // whether to welcome it: LocalOptions::ask
  bool is_tool = false;
  bool relayed = false;        // from another machine
  uint32_t uid = 0;            // of a tool
  uint32_t gid = 0;            // the same
  bool may_hand_over = false;  // to the next agent
  ProcId proc;                 // valid when identified or counted
  bool counted = false;        // is one of its rank's
  bool unique_tags = false;    // no two requests of its rank have the same
  int mailbox =
      -1;  // index of the commit mailbox that it may write to; -1: none
  // Pending fences over the whole job, by tag.
  std::vector<uint64_t> fences;
  std::unordered_map<uint64_t, PendingGet> gets;  // by tag
  std::unordered_set<uint64_t> spawns;            // pending, by tag
  // Other jobs that are being connected with, by tag.
  std::unordered_map<uint64_t, std::set<std::string>> connects;
  std::set<std::string> segments;  // namespaces whose segment it was sent
  std::set<std::string> copies;    // the same of one that is relayed

  bool serving() const { return identified && !ending; }
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_CONNECTION_H_
