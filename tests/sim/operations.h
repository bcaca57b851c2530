// The pending operations of processes in a simulated cluster, and the phase of
// each, derived from the inputs and messages of agents. Of the engines, only
// the meaning of their messages is used here.
#ifndef CANOPY_TESTS_SIM_OPERATIONS_H_
#define CANOPY_TESTS_SIM_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/input.h"
#include "tests/sim/fault_matrix.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// A pending spawn, connect, disconnect, publish, lookup, unpublish, abort,
// group operation, event, job control or query.
struct Operation {
  enum class Kind : uint8_t {
    kSpawn,
    kCollective,
    kNames,
    kAbort,
    kEvent,  // also a process's leave from a group
    kControl,
    kQuery,
  };

  Kind kind = Kind::kSpawn;
  // The phase last seen; Operations::PhaseOf returns the present one.
  Phase phase = Phase::kSpawnRequested;
  ProcId proc;  // the caller; for a collective, the first caller
  RequestId request = 0;
  std::set<ProcId> procs;  // processes that take part: callers, targets
  std::set<NodeId> nodes;  // agents that take part
  core::CollectiveId id;   // set for a collective
  std::set<ProcId> arrived;
  std::map<RequestId, ProcId> unanswered;
  // Set for publishing operations.
  std::string key;
  core::PublicationId publication;
  std::set<NodeId> owners;  // owners of the keys to which a request was sent
  bool delivered = false;   // an owner has received it
  bool waits = false;       // set for a lookup that waits
  bool again = false;       // a caller has repeated its request
  int status = 0;           // status of an event
  Bytes call = {};          // the call of a job control
  // For a lookup or an abort: its number at the caller's agent.
  uint64_t number = 0;
  // Requests of agents for this operation that have no answer, by agent and
  // number.
  std::set<std::pair<NodeId, uint64_t>> calls;
  // For an event: the receivers and senders of its messages in transit.
  std::set<std::pair<NodeId, NodeId>> on_its_way;

  bool HaveAllCome() const { return arrived.size() >= id.participants.size(); }
};

class Operations {
 public:
  using Number = uint64_t;
  using NodeOf = std::function<NodeId(const ProcId&)>;

  // `node_of` returns the agent of a process that makes requests.
  explicit Operations(NodeOf node_of) : node_of_(std::move(node_of)) {}

  // ---------------------------------------------------- what has happened ---

  void OnRequest(const ProcId& proc, RequestId request,
                 const core::Input& input);
  void OnAskedAgain(RequestId request);
  void OnReceived(RequestId request, int status);
  void OnExit(const ProcId& proc);
  void OnInput(NodeId node, const core::Input& input);
  void OnActions(NodeId node, const core::Actions& actions);
  // Called when the node has a new agent, or none.
  void OnAgentGone(NodeId node);

  // ------------------------------------------------------------- questions ---

  // Returns null if the operation is over.
  const Operation* Find(Number number) const;
  const Operation* FindRequest(RequestId request) const;
  Phase PhaseOf(const Operation& operation) const;
  // Returns the operation to which the message belongs, or null.
  const Operation* OperationOf(const core::PeerMessage& message) const;
  // Calls f(const Operation&) for all operations.
  template <typename F>
  void ForEach(const F& f) const {
    for (const auto& [number, operation] : all_) f(operation);
  }
  // Returns the operations that were created, or may have changed, since the
  // last call.
  std::vector<Number> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  using Series = std::pair<core::CollectiveOp, std::vector<ProcId>>;
  using Call = std::pair<NodeId, uint64_t>;

  Operation& Add(const ProcId& proc, RequestId request, Operation::Kind kind,
                 Phase phase);
  void Arrive(const ProcId& proc, RequestId request,
              const core::CollectiveArrived& in);
  void AddAbort(const ProcId& proc, RequestId request,
                const core::AbortArrived& in);
  void AddControl(const ProcId& proc, RequestId request,
                  const core::HostCallArrived& in);
  void Leave(const ProcId& proc, RequestId request, const std::string& group);
  // Identifies a group by its name alone, because a name has one list of
  // participants.
  static Series SeriesOf(const core::CollectiveId& id);
  void SentCollective(Operation* operation) const;
  void SentControl(const core::PeerMessage& message, const std::string& nspace,
                   bool is_answer, Operation* operation) const;
  void NoteAsk(NodeId node, uint64_t request, Number serving);
  Operation* Get(Number number);
  Operation* GetRequest(RequestId request);
  Number NumberOf(const core::PeerMessage& message) const;
  Number WaitsForMap(NodeId node, const std::string& nspace) const;
  Number PulledBy(NodeId owner) const;
  Number AbortIn(const std::string& nspace) const;
  // Record the phase of an operation that a message shows when it is sent, and
  // when it has arrived.
  void Sent(const core::PeerMessage& message, Operation* operation);
  void Came(const core::PeerMessage& message, Operation* operation);
  void OnReply(const core::ReplyClient& reply);
  void OnPulls(NodeId node, const std::set<uint64_t>& pulls);
  // Called when the agent that handles the request in this step serves it
  // alone, where it would otherwise send a message to itself.
  void ServeAlone(NodeId node);
  void EndIfOver(Number number);
  void Erase(Number number);

  const NodeOf node_of_;
  std::map<Number, Operation> all_;
  Number last_ = 0;
  std::map<RequestId, Number> of_request_;
  std::map<std::pair<Series, uint64_t>, Number> of_collective_;
  std::map<std::pair<Series, ProcId>, uint64_t> arrivals_;
  // Processes that take part in the end of a group by having left it.
  std::map<std::pair<Series, uint64_t>, std::set<ProcId>> left_;
  std::map<ProcId, Number> of_leave_;
  std::map<std::string, NodeId> controllers_;         // by job
  std::map<std::string, std::set<NodeId>> nodes_of_;  // by job
  std::map<std::string, Number> of_spawned_;          // by the new job
  std::map<ProcId, Number> of_caller_;          // the caller's last operation
  std::map<Call, Number> of_call_;              // requests without an answer
  std::map<Call, Number> of_lookup_;            // by the reader's agent
  std::map<NodeId, std::set<uint64_t>> pulls_;  // pulls without an answer
  // The requests for maps that have no answer, by agent and job.
  std::set<std::pair<NodeId, std::string>> map_requests_;
  Number served_ = 0;  // the request that the step in progress handles
  std::vector<Number> touched_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_OPERATIONS_H_
