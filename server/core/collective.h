// The one engine behind fence, connect and disconnect.
//
// An agent whose local participants have all arrived contributes once; a
// contribution rolls up the collective's tree, each agent passing on what its
// subtree has brought when all of it is there; the top, which misses nobody,
// releases. Participants and nodes are tracked by identity, so a message that
// comes twice changes nothing, and after a loss everything is simply sent
// again to the new parent.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective_plan.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Messages that may wait for a job map that is not here yet; more are dropped.
inline constexpr size_t kMaxStashed = 4096;

// Collectives on one set that one process may have begun without waiting for
// the first to end, and sets that one agent keeps; more are refused.
inline constexpr uint64_t kMaxPipelined = 1024;
inline constexpr size_t kMaxSets = 65536;

// Not synchronised. Tree, table and store outlive the engine; the tree and the
// table are up to date when it is told of a change in them.
class Collectives {
 public:
  Collectives(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);

  void OnArrived(TimeNs now, const CollectiveArrived& in, Actions* actions);
  void OnUp(TimeNs now, NodeId src, const CollectiveUp& up, Actions* actions);
  void OnDown(TimeNs now, NodeId src, const CollectiveDown& down,
              Actions* actions);
  // The connection ended: nobody to reply to. Its arrivals stay valid.
  void OnClientGone(ClientId client);
  // News of a job map that TakeWanted asked for, or of any other.
  void OnJobAdded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobUnknown(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobRemoved(const std::string& nspace, Actions* actions);
  // A rank, here or elsewhere, ended or lost its connection.
  void OnRankGone(TimeNs now, const ProcId& proc, Actions* actions);
  void OnTreeChanged(TimeNs now, Actions* actions);
  // A node's new agent knows nothing of what its former one was told.
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // Whether to tell (by Remember) what the next agent of this node must know.
  void set_remembers(bool on) { remembers_ = on; }
  // The processes of a job here had a former agent.
  void OnRecovered(const std::string& nspace) { recovered_.insert(nspace); }
  // Of that agent: collectives of a set that have ended. Oldest first.
  void Restore(const KeptRecord& record);
  // Comes before the process arrives at anything.
  void OnResumed(TimeNs now, const ClientResumed& in, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called; kNever when it does not.
  TimeNs NextDeadline() const;

  // Sets of several namespaces that the process is connected in: its end is
  // an event to their members.
  std::vector<std::vector<ProcId>> ConnectionsOf(const ProcId& proc) const;

  size_t num_sets() const { return sets_.size(); }
  size_t num_connections() const { return connected_.size(); }
  size_t num_deadlines() const { return deadlines_.size(); }
  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted();
  // Adds what waits; an empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

 private:
  struct Waiter {
    ClientId client = 0;
    RequestId request = 0;
    ProcId proc;
  };
  struct Part {
    Bytes data;
    NodeId via = kNoNode;  // the neighbour that brought it
  };
  using Parts = std::map<NodeId, Part>;
  // In deadlines_: of an arrival that waits for a map.
  static constexpr uint64_t kStashSequence = UINT64_MAX;
  // Identifies a deadline; the number makes it unique.
  using DeadlineKey = std::pair<TimeNs, uint64_t>;

  // A collective that is going on.
  struct Instance {
    TimeNs started = 0;
    bool collect = false;
    std::vector<bool> arrived;  // by index in CollectiveMembers::local
    size_t num_arrived = 0;     // how many of them are true
    std::vector<Waiter> waiters;
    Parts parts;
    std::set<NodeId> heard;    // neighbours that contributed
    NodeId sent_to = kNoNode;  // parent that was given our part
    // By local index: the version of the data in our part.
    std::vector<uint64_t> shows;
    std::vector<DeadlineKey> deadlines;
  };
  // One that is over here, kept while somebody may still ask for its end.
  struct Over {
    int status = 0;
    std::vector<ProcId> missing;
    Parts parts;
    std::set<NodeId> told;  // neighbours that know
    NodeId parent = kNoNode;
  };
  using Stashed =
      std::variant<CollectiveArrived, std::pair<NodeId, CollectiveUp>,
                   std::pair<NodeId, CollectiveDown>>;
  struct StashEntry {
    Stashed what;
    TimeNs deadline = kNever;  // of an arrival
  };

  // All collectives of one kind on one set of participants.
  struct Set {
    CollectiveId id;                           // sequence unused
    std::optional<CollectiveMembers> members;  // once all maps are here
    CollectiveTree place;
    uint64_t place_version = UINT64_MAX;
    std::vector<uint64_t> arrivals;  // by local index: how many there were
    uint64_t next = 0;               // all before it are over here
    uint64_t restored = 0;           // all before it ended under a former agent
    bool restored_data = true;       // the last of them brought data
    std::map<ProcId, uint64_t> resumed;  // counts, until members are known
    std::vector<bool> counted;           // by local index: arrivals are told
    // By local index: the version of the data that all members' nodes have got
    // by these collectives; whoever comes to the next has seen the last.
    std::vector<uint64_t> shown;
    std::map<uint64_t, Instance> active;
    std::map<uint64_t, Over> over;
    std::vector<StashEntry> stash;  // waiting for a map
  };
  struct SameSet {
    bool operator()(const CollectiveId& a, const CollectiveId& b) const {
      return std::tie(a.op, a.participants) < std::tie(b.op, b.participants);
    }
  };
  using Sets = std::map<CollectiveId, Set, SameSet>;
  struct Turn {
    TimeNs now;
    Actions& out;
  };

  static void Reply(Turn& turn, ClientId client, RequestId request, int status);
  void Send(Turn& turn, NodeId to, MessageBody body);

  // Arrival of local participants (collective_arrival.cc).
  void Arrive(Turn& turn, Set& set, const CollectiveArrived& in,
              TimeNs deadline);
  bool Refused(Turn& turn, Set& set, const CollectiveArrived& in, int index);
  bool Resolve(Turn& turn, Set& set);
  void Stash(Turn& turn, Set& set, StashEntry entry);
  void Unstash(Turn& turn, Set& set);
  void FailStash(Turn& turn, Set& set, int status);
  void ExpireStash(Turn& turn, Set& set);

  // Progress of one instance (collective.cc).
  Set& FindOrAddSet(const CollectiveId& id);
  Instance& FindOrAddInstance(Turn& turn, Set& set, uint64_t sequence);
  static bool IsOver(const Set& set, uint64_t sequence) {
    return sequence < set.next || set.over.contains(sequence);
  }
  void Place(Set& set) const;
  void ApplyUp(Turn& turn, Set& set, NodeId src, const CollectiveUp& up);
  void ApplyDown(Turn& turn, Set& set, NodeId src, const CollectiveDown& down);
  void AnswerLate(Turn& turn, Set& set, NodeId src, const CollectiveUp& up);
  void AddOwnPart(const Set& set, uint64_t sequence, Instance& instance) const;
  void Progress(Turn& turn, Set& set, uint64_t sequence);
  CollectiveUp MakeUp(const Set& set, uint64_t sequence, int status,
                      const Parts& parts) const;
  void Release(Turn& turn, Set& set, uint64_t sequence, int status,
               std::vector<ProcId> missing, NodeId except);
  void TellBelow(Turn& turn, const Set& set, uint64_t sequence,
                 const Instance& instance, NodeId except, Over* over);
  void NoteConnection(const CollectiveId& id, int status);
  void SendDown(Turn& turn, const Set& set, uint64_t sequence, const Over& over,
                NodeId to);
  void Publish(Turn& turn, const Parts& parts);
  void PassBy(Set& set, uint64_t sequence) const;
  // A former agent of this node may have contributed, and the others have
  // taken that.
  bool MayBeFormers(const Set& set, uint64_t sequence) const;
  void Keep(Turn& turn, const Set& set, uint64_t sequence, int status,
            bool collect) const;
  void ApplyResumed(Set& set);
  void ReleaseRestored(Turn& turn, Set& set);
  void AnswerRestored(Turn& turn, Set& set, uint64_t sequence, NodeId to);
  std::vector<NodeContribution> DataKnown(const Set& set) const;
  void Forget(Set& set) const;

  // Bad ends (collective_faults.cc).
  // Ends the instance when somebody that it needs is gone; true if so.
  bool EndIfGone(Turn& turn, Set& set, uint64_t sequence);
  // This agent sees no success any more: tells those above and below.
  void Fail(Turn& turn, Set& set, uint64_t sequence, int status,
            std::vector<ProcId> missing, NodeId except);
  void ReportAgain(Turn& turn, Set& set);
  void ReportLost(Turn& turn, const ProcId& proc);
  void LogFailure(Turn& turn, const Set& set, uint64_t sequence,
                  const Over& over) const;
  void Expire(Turn& turn, Set& set, uint64_t sequence);
  void AddDeadline(Set& set, uint64_t sequence, TimeNs when,
                   std::vector<DeadlineKey>* keys);
  static Waiting DescribeStash(const Set& set);
  std::vector<MissingProc> MissingIn(const Set& set,
                                     const Instance& instance) const;

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  ModexStore& modex_;
  Sets sets_;
  // Participants that are connected: after a connect, before a disconnect.
  std::set<std::vector<ProcId>> connected_;
  std::set<std::string> recovered_;
  // Set and sequence that a deadline belongs to.
  std::map<DeadlineKey, std::pair<Set*, uint64_t>> deadlines_;
  uint64_t deadline_number_ = 0;
  bool remembers_ = false;
  size_t num_stashed_ = 0;
  std::vector<std::string> wanted_;
};

// "fence", "connect", ...
const char* NameOf(CollectiveOp op);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_H_
