// Operations of processes that are under way in a simulated cluster, and in
// which phase each is, as what agents take and send tells. It knows nothing of
// the engines but the meaning of their messages.
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

// Of spawns, connects, disconnects, publishes, lookups, unpublishes, aborts,
// process groups, events, job control and queries.
struct Operation {
  enum class Kind : uint8_t {
    kSpawn,
    kCollective,
    kNames,
    kAbort,
    kEvent,  // also that a process has left a group
    kControl,
    kQuery,
  };

  Kind kind = Kind::kSpawn;
  // As last seen; Operations::PhaseOf tells what it is now.
  Phase phase = Phase::kSpawnRequested;
  ProcId proc;  // the caller; of a collective, the first
  RequestId request = 0;
  std::set<ProcId> procs;  // that take part: callers, targets
  std::set<NodeId> nodes;  // that have sent or received for it, or are to
  core::CollectiveId id;   // of a collective
  std::set<ProcId> arrived;
  std::map<RequestId, ProcId> unanswered;
  // Of names.
  std::string key;
  core::PublicationId publication;
  std::set<NodeId> owners;  // of the keys, as far as they are asked
  bool delivered = false;   // an owner has got it
  bool waits = false;       // a lookup
  bool again = false;       // a caller has repeated its request
  int status = 0;           // of an event
  Bytes call = {};          // of job control
  // Of a lookup or an abort: its number at the caller's agent.
  uint64_t number = 0;
  // Calls of agents for it that have no answer: the agent, its number.
  std::set<std::pair<NodeId, uint64_t>> calls;
  // Of an event: agents to which it is on its way, and from which.
  std::set<std::pair<NodeId, NodeId>> on_its_way;

  bool HaveAllCome() const { return arrived.size() >= id.participants.size(); }
};

class Operations {
 public:
  using Number = uint64_t;
  using NodeOf = std::function<NodeId(const ProcId&)>;

  // Of the processes that make requests.
  explicit Operations(NodeOf node_of) : node_of_(std::move(node_of)) {}

  // ---------------------------------------------------- what has happened ---

  void OnRequest(const ProcId& proc, RequestId request,
                 const core::Input& input);
  void OnAskedAgain(RequestId request);
  void OnReceived(RequestId request, int status);
  void OnExit(const ProcId& proc);
  void OnInput(NodeId node, const core::Input& input);
  void OnActions(NodeId node, const core::Actions& actions);
  // The node's agent is another one, or none.
  void OnAgentGone(NodeId node);

  // ------------------------------------------------------------- questions ---

  // Null when it is over.
  const Operation* Find(Number number) const;
  const Operation* FindRequest(RequestId request) const;
  Phase PhaseOf(const Operation& operation) const;
  // Null: of none.
  const Operation* OperationOf(const core::PeerMessage& message) const;
  // Calls f(const Operation&) for all.
  template <typename F>
  void ForEach(const F& f) const {
    for (const auto& [number, operation] : all_) f(operation);
  }
  // Those that something has happened to since the last call.
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
  // Of groups their names alone: a name has one list of participants.
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
  // What a message that is sent, or has come, says about its operation.
  void Sent(const core::PeerMessage& message, Operation* operation);
  void Came(const core::PeerMessage& message, Operation* operation);
  void OnReply(const core::ReplyClient& reply);
  void OnPulls(NodeId node, const std::set<uint64_t>& pulls);
  // An agent that takes a request and sends nothing for it is whom it would
  // ask.
  void ServeAlone(NodeId node);
  void EndIfOver(Number number);
  void Erase(Number number);

  const NodeOf node_of_;
  std::map<Number, Operation> all_;
  Number last_ = 0;
  std::map<RequestId, Number> of_request_;
  std::map<std::pair<Series, uint64_t>, Number> of_collective_;
  std::map<std::pair<Series, ProcId>, uint64_t> arrivals_;
  // Who takes part in the end of a group by leaving it.
  std::map<std::pair<Series, uint64_t>, std::set<ProcId>> left_;
  std::map<ProcId, Number> of_leave_;
  std::map<std::string, NodeId> controllers_;         // by job
  std::map<std::string, std::set<NodeId>> nodes_of_;  // likewise
  std::map<std::string, Number> of_spawned_;          // by the new job
  std::map<ProcId, Number> of_caller_;                // its last one
  std::map<Call, Number> of_call_;                    // that have no answer
  std::map<Call, Number> of_lookup_;                  // by the reader's agent
  std::map<NodeId, std::set<uint64_t>> pulls_;        // that have no answer
  std::set<std::pair<NodeId, std::string>> map_requests_;  // the same
  Number served_ = 0;  // the request that the step in progress takes
  std::vector<Number> touched_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_OPERATIONS_H_
