// Events: subscriptions, visibility, and distribution to the agents of the
// receivers.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/event/event_cache.h"
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

// Bytes of infos that an event of a client may have; more are refused
// (kErrOutOfResource), as every agent keeps them.
inline constexpr size_t kMaxEventInfo = size_t{64} << 10;
// And receivers that it may name; whole jobs count as one.
inline constexpr size_t kMaxEventTargets = 4096;

// Events by which an agent recognises one that comes again: on another way
// through the tree, from a neighbour's cache, or raised again.
inline constexpr size_t kRecentEvents = size_t{16} << 10;

// Codes that one client may subscribe to; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxEventCodes = 65536;

// EventRaised::id of an event of which an agent makes the number.
inline constexpr uint64_t kAgentsEvent = uint64_t{1} << 63;

// An event goes to all agents once, along the edges of the tree; each delivers
// to its own clients and keeps it for those that ask later. What clients raise
// is persisted, and an agent that was restarted gets what its neighbours keep.
// Its clients then get again what they have had, and tell it by its identity.
// Not synchronised.
class Events {
 public:
  Events(NodeId self, const Tree& tree, const JobTable& jobs);
  // Sees each event that comes here, once: also those of a predecessor's
  // journal, and whether or not a client wants it.
  void set_observer(std::function<void(const EventMessage&)> observer) {
    observer_ = std::move(observer);
  }
  // Whether there is a journal.
  void set_persists(bool persists) { persists_ = persists; }

  void OnWanted(const EventsWanted& in, Actions* actions);
  void OnUnwanted(const EventsUnwanted& in);
  // Raised by a client, or with client == 0 by this agent. What is known
  // already is answered, and nothing else.
  void OnRaised(TimeNs now, const EventRaised& in, Actions* actions);
  // Raised by this agent for all, and persisted when the source is a process of
  // this node; known already: nothing happens. The client and request of `in`
  // are not used.
  void RaiseForAll(TimeNs now, const EventRaised& in, Actions* actions);
  // Raised by each agent for itself, because each of them knows: only local
  // clients get it. The client and request of `in` are not used.
  void OnKnownEverywhere(TimeNs now, const EventRaised& in, Actions* actions);
  // False when it is known already.
  bool OnMessage(NodeId src, const EventMessage& message, Actions* actions);
  void OnClientGone(ClientId client);
  void OnJobRemoved(const std::string& nspace);
  // Neighbours may be new: they receive the cached events.
  void OnTreeChanged(Actions* actions);
  size_t num_listeners() const { return wanted_.size(); }
  // What its former agent knew is lost.
  void OnNodeRestarted(NodeId node, Actions* actions);
  // A record of a predecessor's journal.
  void Recover(const std::string& nspace, const PersistedRecord& record,
               Actions* actions);

 private:
  struct Wanted {
    bool all = false;
    std::set<int> codes;
    bool Has(int code) const { return all || codes.contains(code); }
  };
  int Check(const EventRaised& in) const;
  void Distribute(EventMessage message, ClientId raised_by, bool persist,
                  Actions* actions);
  EventMessage MakeMessage(TimeNs now, const EventRaised& in);
  bool MaySee(const ProcId& receiver, const EventMessage& message) const;
  void DeliverTo(ClientId client, CachedEvent* event, Actions* actions) const;
  void Deliver(CachedEvent event, bool keep, Actions* actions);
  void Persist(const EventMessage& message, Actions* actions);
  void SendCached(NodeId to, bool has_own, Actions* actions) const;
  void Flood(const EventMessage& message, NodeId except,
             Actions* actions) const;
  bool IsNew(const EventMessage& message);
  std::vector<NodeId> Neighbours() const;

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  bool persists_ = false;
  std::function<void(const EventMessage&)> observer_;
  std::map<ClientId, Wanted> wanted_;
  EventCache cache_;
  RecentEvents recent_{kRecentEvents};
  // Of each job, how many events of it were persisted.
  std::map<std::string, uint64_t> persisted_;
  uint64_t last_number_ = 0;
  std::set<NodeId> neighbours_;
};

// Codec form of an event's info: the affected process and, when there is one,
// its exit code.
// `non_default`: handlers without codes of their own are not to get it.
Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default = false);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENTS_H_
