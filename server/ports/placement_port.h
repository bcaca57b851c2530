// Who decides where and when jobs run, and what it is told of them. Loop
// thread.
#ifndef CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_
#define CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/control_actions.h"

namespace canopy {

// One decision: of a request to run a job, for as long as that lives.
struct PlacementId {
  std::string request;   // 1 to 255 bytes of printable text
  uint32_t attempt = 1;  // grows when the same job is to be placed anew

  auto operator<=>(const PlacementId&) const = default;
};

struct PlacementHost {
  std::string name;
  uint32_t slots = 0;  // 0: as many as the node has
};

struct PlacementApp {
  std::vector<std::string> argv;
  uint32_t num_procs = 0;  // 0: one for each slot
  std::vector<PlacementHost> hosts;
};

struct PlacementCaller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::optional<ProcId> process;  // none: a launcher
  std::string host_job;           // the host's name of its job; empty: none
};

struct PlacementRequest {
  PlacementId id;
  PlacementCaller caller;
  std::vector<PlacementApp> apps;
  std::vector<PlacementHost> hosts;  // that alone may be used; empty: any
  uint32_t num_slots = 0;            // 0: as many as it can get
  bool oversubscribe = false;
  std::string map_by;
  uint32_t time_limit_seconds = 0;  // 0: none
  int64_t give_up = 0;              // EventLoop::Now(); 0: never
  int64_t since_ms = 0;             // since 1970
  // Of a spawn: codec form, SIZE n, n INFO of the job, and more that is
  // ignored.
  Bytes directives;
  std::string parent;  // namespace; empty: none
  bool again = false;  // it may have been asked before
};

struct PlacementQueued {
  std::string reason;     // one line
  int64_t since_ms = 0;   // 0: since it was asked
  uint32_t position = 0;  // from 1; 0: not known
};

struct GrantedNode {
  std::string name;
  uint32_t slots = 0;
};

struct PlacementGrant {
  std::string host_job;
  // In the order in which they are filled. Empty: every node, with the slots
  // that others leave.
  std::vector<GrantedNode> nodes;
  uint32_t time_limit_seconds = 0;  // 0: none
  std::vector<std::string> env;     // NAME=VALUE, over what the processes have
};

// Heard from within calls of the port or later. What is said of requests that
// are not waited for is ignored.
class PlacementListener {
 public:
  virtual ~PlacementListener() = default;
  virtual void OnQueued(const PlacementId& id,
                        const PlacementQueued& queued) = 0;
  virtual void OnGranted(const PlacementId& id,
                         const PlacementGrant& grant) = 0;
  virtual void OnRefused(const PlacementId& id, const Status& why) = 0;
};

struct NodeUse {
  std::string name;
  uint32_t procs = 0;
};

// A job on nodes that were granted by name.
struct PlacedJob {
  PlacementId id;
  std::string host_job;
  std::string nspace;  // empty: it came to nothing before it was mapped
  PlacementCaller caller;
  std::string parent;
  std::string command;  // for people
  std::vector<NodeUse> nodes;
  uint32_t num_procs = 0;
  int64_t queued_ms = 0;   // since 1970
  int64_t started_ms = 0;  // since 1970; 0: never
};

struct PlacedEnd {
  int exit_code = 0;
  int status = 0;
  std::string text;
  int64_t ended_ms = 0;  // since 1970
  // No other job uses what was granted for its placement.
  bool last = true;
  core::JobUsage used = {};  // by those of its ranks that it is known of
};

class PlacementPort {
 public:
  virtual ~PlacementPort() = default;
  virtual void set_listener(PlacementListener* listener) = 0;

  // Whether it heeds the directives of requests, or may turn out to.
  virtual bool HeedsDirectives() const = 0;
  // Answered by one OnGranted or OnRefused, unless it is cancelled first.
  virtual void Place(PlacementRequest request) = 0;
  virtual void Cancel(const PlacementId& id) = 0;

  // What follows is of jobs on nodes that were granted by name. `recovered`:
  // a predecessor launched it.
  virtual void Launched(const PlacedJob& job, bool recovered) = 0;
  virtual void Changed(const std::string& nspace, core::JobPhase phase,
                       uint32_t procs_ended) = 0;
  // Also of a grant of which nothing came.
  virtual void Released(const PlacedJob& job, const PlacedEnd& end) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_
