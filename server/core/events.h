// Events: subscriptions, visibility, and distribution to the agents of the
// receivers.
#ifndef CANOPY_SERVER_CORE_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENTS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/tree.h"

namespace canopy::core {

// pmix_data_range_t
enum class EventRange : uint8_t {
  kUndef = 0,
  kRm = 1,
  kLocal = 2,
  kNamespace = 3,
  kSession = 4,
  kGlobal = 5,
  kCustom = 6,
  kProcLocal = 7,
};

// Events cached for handlers registered later, per agent; the oldest are
// evicted first.
inline constexpr size_t kMaxCachedEvents = 512;

// Codes that one client may subscribe to; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxEventCodes = 65536;

// An event goes to all agents once, along the edges of the tree; each delivers
// to its own clients. Not synchronised.
class Events {
 public:
  Events(NodeId self, const Tree& tree, const JobTable& jobs);

  void OnWanted(const EventsWanted& in, Actions* actions);
  void OnUnwanted(const EventsUnwanted& in);
  // Raised by a client, or with client == 0 by this agent.
  void OnRaised(TimeNs now, const EventRaised& in, Actions* actions);
  // Raised by each agent for itself, because each of them knows: only local
  // clients get it. The client and request of `in` are not used.
  void OnKnownEverywhere(TimeNs now, const EventRaised& in, Actions* actions);
  void OnMessage(NodeId src, const EventMessage& message, Actions* actions);
  void OnClientGone(ClientId client);
  void OnJobRemoved(const std::string& nspace);
  // Neighbours may be new: they receive the cached events.
  void OnTreeChanged(Actions* actions);
  size_t num_listeners() const { return wanted_.size(); }
  // A new incarnation of an agent numbers its events from the beginning.
  void OnNodeReturned(NodeId node);

 private:
  struct Wanted {
    bool all = false;
    std::set<int> codes;
    bool Has(int code) const { return all || codes.contains(code); }
  };
  struct Cached {
    EventMessage message;
    ClientId raised_by = 0;
    std::set<ClientId> delivered;
    bool stays_here = false;  // whatever its range
  };

  EventMessage MakeMessage(TimeNs now, const EventRaised& in);
  bool MaySee(const ProcId& receiver, const EventMessage& message) const;
  void DeliverTo(ClientId client, Cached* event, Actions* actions) const;
  void Deliver(Cached event, bool keep, Actions* actions);
  void Flood(const EventMessage& message, NodeId except,
             Actions* actions) const;
  bool IsNew(NodeId origin, uint64_t number);
  std::vector<NodeId> Neighbours() const;

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  std::map<ClientId, Wanted> wanted_;
  std::deque<Cached> cache_;
  std::map<NodeId, std::set<uint64_t>> seen_;
  uint64_t last_number_ = 0;
  std::set<NodeId> neighbours_;
};

// Codec form of an event's info: the affected process and, when there is one,
// its exit code.
// `non_default`: handlers without codes of their own are not to get it.
Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default = false);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENTS_H_
