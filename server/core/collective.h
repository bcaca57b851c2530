// The one engine behind fence, connect and disconnect.
//
// An agent whose local participants have all arrived contributes once.
// Contributions are aggregated up the collective's tree: each agent forwards
// those of its subtree once they are complete, and the top, which then has all
// of them, releases. Participants and nodes are tracked by identity, so a
// duplicate message has no effect, and after a loss everything is resent to the
// new parent.
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

// Messages that may wait for a job map to arrive; more are dropped.
inline constexpr size_t kMaxStashed = 4096;

// Collectives of one series that one process may have pending, and series that
// one agent holds; more are refused.
inline constexpr uint64_t kMaxPipelined = 1024;
inline constexpr size_t kMaxSeries = 65536;

// Not synchronised. Tree, table and store outlive the engine and have been
// updated before it is notified of a change in them.
class Collectives {
 public:
  Collectives(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);

  void OnArrived(TimeNs now, const CollectiveArrived& in, Actions* actions);
  void OnUp(TimeNs now, NodeId src, const CollectiveUp& up, Actions* actions);
  void OnDown(TimeNs now, NodeId src, const CollectiveDown& down,
              Actions* actions);
  // The connection ended, so replies to it are dropped. Its arrivals stay
  // valid.
  void OnClientGone(ClientId client);
  // A job map became known or was reported unknown, whether TakeWanted named it
  // or not.
  void OnJobAdded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobUnknown(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobRemoved(const std::string& nspace, Actions* actions);
  // A rank, here or elsewhere, ended or lost its connection.
  void OnRankGone(TimeNs now, const ProcId& proc, Actions* actions);
  void OnTreeChanged(TimeNs now, Actions* actions);
  // A node's successor agent has none of the messages that its predecessor
  // received.
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // Whether to emit PersistRecord for what a successor needs.
  void set_persists(bool on) { persists_ = on; }
  // The job's local processes were recovered from a predecessor.
  void OnRecovered(const std::string& nspace) { recovered_.insert(nspace); }
  // A predecessor's record: collectives of a series that have ended. Oldest
  // first.
  void Recover(const PersistedRecord& record);
  // Comes before the process arrives at anything.
  void OnReattached(TimeNs now, const ClientReattached& in, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called; kNever when it does not.
  TimeNs NextDeadline() const;

  // Participant lists over several namespaces in which the process is
  // connected: its end is an event to their members.
  std::vector<std::vector<ProcId>> ConnectionsOf(const ProcId& proc) const;

  size_t num_series() const { return series_.size(); }
  size_t num_connections() const { return connected_.size(); }
  size_t num_deadlines() const { return deadlines_.size(); }
  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted();
  // Adds pending operations; an empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

 private:
  struct Waiter {
    ClientId client = 0;
    RequestId request = 0;
    ProcId proc;
  };
  struct Contribution {
    Bytes data;
    NodeId via = kNoNode;  // the neighbour that brought it
  };
  using Contributions = std::map<NodeId, Contribution>;
  // In deadlines_: of an arrival that waits for a map.
  static constexpr uint64_t kStashSequence = UINT64_MAX;
  // The number makes a deadline unique.
  using DeadlineKey = std::pair<TimeNs, uint64_t>;

  // A collective in progress.
  struct Instance {
    TimeNs started = 0;
    bool collect = false;
    std::vector<bool> arrived;  // by index in CollectiveMembers::local
    size_t num_arrived = 0;     // how many of them are true
    std::vector<Waiter> waiters;
    Contributions contributions;
    std::set<NodeId> contributors;  // neighbours that contributed
    NodeId sent_to = kNoNode;       // parent that received our contribution
    // By local index: the version of the data in our contribution.
    std::vector<uint64_t> sent_versions;
    std::vector<DeadlineKey> deadlines;
  };
  // One that has completed here, retained while a participant may still need
  // its result.
  struct Completed {
    int status = 0;
    std::vector<ProcId> missing;
    Contributions contributions;
    std::set<NodeId> notified;  // neighbours that know
    NodeId parent = kNoNode;
  };
  using Stashed =
      std::variant<CollectiveArrived, std::pair<NodeId, CollectiveUp>,
                   std::pair<NodeId, CollectiveDown>>;
  struct StashEntry {
    Stashed what;
    TimeNs deadline = kNever;  // of an arrival
  };

  // The series of collectives of one kind on one set of participants.
  struct Series {
    CollectiveId id;                           // sequence unused
    std::optional<CollectiveMembers> members;  // once all maps are here
    CollectiveTree place;
    uint64_t place_version = UINT64_MAX;
    std::vector<uint64_t> arrivals;  // by local index: number of arrivals
    uint64_t next = 0;               // all before it have completed here
    uint64_t recovered = 0;      // all before it completed under a predecessor
    bool recovered_data = true;  // the last of them carried data
    std::map<ProcId, uint64_t> reattached;  // counts, until members are known
    std::vector<bool> arrivals_known;       // by local index: count is known
    // By local index: the version of the data that all members' nodes have
    // acknowledged (the delta base), as who arrives at the next collective has
    // completed the last.
    std::vector<uint64_t> acknowledged;
    std::map<uint64_t, Instance> active;
    std::map<uint64_t, Completed> completed;
    std::vector<StashEntry> stash;  // waiting for a map
  };
  struct SameSeries {
    bool operator()(const CollectiveId& a, const CollectiveId& b) const {
      return std::tie(a.op, a.participants) < std::tie(b.op, b.participants);
    }
  };
  using SeriesMap = std::map<CollectiveId, Series, SameSeries>;
  struct StepContext {
    TimeNs now;
    Actions& out;
  };

  static void Reply(StepContext& step, ClientId client, RequestId request,
                    int status);
  void Send(StepContext& step, NodeId to, MessageBody body);

  // Arrival of local participants (collective_arrival.cc).
  void Arrive(StepContext& step, Series& series, const CollectiveArrived& in,
              TimeNs deadline);
  bool Refused(StepContext& step, Series& series, const CollectiveArrived& in,
               int index);
  bool Resolve(StepContext& step, Series& series);
  void Stash(StepContext& step, Series& series, StashEntry entry);
  void Unstash(StepContext& step, Series& series);
  void FailStash(StepContext& step, Series& series, int status);
  void ExpireStash(StepContext& step, Series& series);

  // Progress of one instance (collective.cc).
  Series& FindOrAddSeries(const CollectiveId& id);
  Instance& FindOrAddInstance(StepContext& step, Series& series,
                              uint64_t sequence);
  static bool IsOver(const Series& series, uint64_t sequence) {
    return sequence < series.next || series.completed.contains(sequence);
  }
  void Place(Series& series) const;
  void ApplyUp(StepContext& step, Series& series, NodeId src,
               const CollectiveUp& up);
  void ApplyDown(StepContext& step, Series& series, NodeId src,
                 const CollectiveDown& down);
  void AnswerLate(StepContext& step, Series& series, NodeId src,
                  const CollectiveUp& up);
  void AddOwnContribution(const Series& series, uint64_t sequence,
                          Instance& instance) const;
  void Progress(StepContext& step, Series& series, uint64_t sequence);
  CollectiveUp MakeUp(const Series& series, uint64_t sequence, int status,
                      const Contributions& contributions) const;
  void Release(StepContext& step, Series& series, uint64_t sequence, int status,
               std::vector<ProcId> missing, NodeId except);
  void NotifyBelow(StepContext& step, const Series& series, uint64_t sequence,
                   const Instance& instance, NodeId except,
                   Completed* completed);
  void NoteConnection(const CollectiveId& id, int status);
  void SendDown(StepContext& step, const Series& series, uint64_t sequence,
                const Completed& completed, NodeId to);
  void Publish(StepContext& step, const Contributions& contributions);
  void SkipEarlier(Series& series, uint64_t sequence) const;
  // A predecessor may have contributed already, in which case the other agents
  // use that contribution.
  bool MayBePredecessors(const Series& series, uint64_t sequence) const;
  void Persist(StepContext& step, const Series& series, uint64_t sequence,
               int status, bool collect) const;
  void ApplyReattached(Series& series);
  void ReleaseRecovered(StepContext& step, Series& series);
  void AnswerRecovered(StepContext& step, Series& series, uint64_t sequence,
                       NodeId to);
  std::vector<NodeContribution> DataKnown(const Series& series) const;
  void PruneCompleted(Series& series) const;

  // Bad ends (collective_faults.cc). Fails the instance when a participant that
  // it needs is gone; true if so.
  bool EndIfGone(StepContext& step, Series& series, uint64_t sequence);
  // The collective cannot succeed any more: notifies parent and children.
  void Fail(StepContext& step, Series& series, uint64_t sequence, int status,
            std::vector<ProcId> missing, NodeId except);
  void ResendReports(StepContext& step, Series& series);
  void ReportLost(StepContext& step, const ProcId& proc);
  void LogFailure(StepContext& step, const Series& series, uint64_t sequence,
                  const Completed& completed) const;
  void Expire(StepContext& step, Series& series, uint64_t sequence);
  void AddDeadline(Series& series, uint64_t sequence, TimeNs when,
                   std::vector<DeadlineKey>* keys);
  static Waiting DescribeStash(const Series& series);
  std::vector<MissingProc> MissingIn(const Series& series,
                                     const Instance& instance) const;

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  ModexStore& modex_;
  SeriesMap series_;
  // Participants that are connected: after a connect, before a disconnect.
  std::set<std::vector<ProcId>> connected_;
  std::set<std::string> recovered_;
  // Series and sequence that a deadline belongs to.
  std::map<DeadlineKey, std::pair<Series*, uint64_t>> deadlines_;
  uint64_t deadline_number_ = 0;
  bool persists_ = false;
  size_t num_stashed_ = 0;
  std::vector<std::string> wanted_;
};

// "fence", "connect", ...
const char* NameOf(CollectiveOp op);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_H_
