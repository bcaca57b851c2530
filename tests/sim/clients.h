// Stand-ins for connected processes.
#ifndef CANOPY_TESTS_SIM_CLIENTS_H_
#define CANOPY_TESTS_SIM_CLIENTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/messages.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/input.h"
#include "server/core/step/job_actions.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/jobs.h"
#include "tests/sim/oracle.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// The status of a request that was not answered.
inline constexpr int kUnanswered = -1000;

struct Answer {
  int status = 0;
  std::string payload;
};

struct Notice {
  ProcId to;
  int status = 0;
  ProcId source;
};

// Makes the requests of processes and compares their answers through the
// oracle. If agents persist, each process keeps the data that its library would
// send again after it has reattached: commits, pending requests and the numbers
// of collectives that have ended for it. A new operation of clients belongs
// here.
class Clients {
 public:
  // All references must outlive this object.
  Clients(const Settings& settings, const JobCatalog& jobs, AgentInputs& inputs,
          Oracle& oracle, Errors& errors);

  // Called once for each process, and again after each Disconnect.
  ClientId Connect(const ProcId& proc);
  void Disconnect(const ProcId& proc);
  // Returns the id of the process's last connection.
  ClientId IdOf(const ProcId& proc) const { return ids_.at(proc); }
  // Records that the process has ended, connected or not.
  void OnExit(const ProcId& proc);

  void Commit(const ProcId& proc, core::Scope scope, const std::string& key,
              const std::string& value);
  // Empty `participants` stand for the process's whole job. A timeout of 0
  // means no limit.
  RequestId Fence(const ProcId& proc, std::vector<ProcId> participants = {},
                  bool collect = false, uint32_t timeout_ms = 0);
  RequestId Collective(core::CollectiveOp op, const ProcId& proc,
                       std::vector<ProcId> participants,
                       uint32_t timeout_ms = 0);
  // Calls the construct or destruct of a process group; `info` is in codec
  // form. The caller of this function compares the answers, because the oracle
  // does not.
  RequestId Group(core::CollectiveOp op, const ProcId& proc,
                  const std::string& name, std::vector<ProcId> participants,
                  Bytes info = {});
  RequestId LeaveGroup(const ProcId& proc, const std::string& name);
  RequestId Get(const ProcId& proc, core::GetArrived get);
  // Publishes one key whose value is the key. The persistence is FIRST_READ
  // with `once`, otherwise APP.
  RequestId Publish(const ProcId& proc, const std::string& key, bool once);
  // A timeout of 0 means a lookup without waiting.
  RequestId Lookup(const ProcId& proc, std::vector<std::string> keys,
                   uint32_t timeout_seconds = 0);
  RequestId Unpublish(const ProcId& proc, const std::string& key);
  // Empty `targets` stand for the process's whole job.
  RequestId Abort(const ProcId& proc, int status, const std::string& text,
                  std::vector<ProcId> targets = {});
  // `call` has the form that the executing stand-in expects.
  RequestId Spawn(const ProcId& proc, Bytes call);
  // Empty `targets` stand for the process's whole job. `call` is as in
  // HostCallArrived.
  RequestId ControlJob(const ProcId& proc, std::vector<ProcId> targets,
                       Bytes call);
  // Calls the host or the agents. The `call` of a call to the host must be
  // unique.
  RequestId CallHost(const ProcId& proc, HostOp op, Bytes call,
                     std::vector<ProcId> targets = {});
  // Empty `codes` stand for all codes.
  RequestId WantEvents(const ProcId& proc, std::vector<int> codes);
  // `info` is in codec form.
  RequestId Raise(const ProcId& proc, int status, uint8_t range,
                  std::vector<ProcId> targets = {}, Bytes info = {});
  // `queries` is as in QueryArrived.
  RequestId Query(const ProcId& proc, Bytes queries);
  void Finalize(const ProcId& proc);
  // Returns the next request's number, for inputs made by the test.
  RequestId NewRequest() { return ++last_request_; }

  void On(NodeId node, core::ReplyClient& a);
  void On(NodeId node, core::ReleaseFence& a);
  void On(NodeId node, core::NotifyClient& a);
  void On(NodeId node, core::CloseClient& a);
  void On(NodeId node, core::PublishRank& a);

  // Returns null if there is no answer. A request may be answered at most once.
  const Answer* AnswerTo(RequestId request) const;
  // Returns kUnanswered if there is no answer.
  int StatusOf(RequestId request) const;
  const std::vector<Notice>& notices() const { return notices_; }
  // Returns the connections that agents have closed, in order.
  const std::vector<ClientId>& closed() const { return closed_; }

  // Records that the agent of these processes is gone. Processes that were
  // connected send no message until they reattach to its successor.
  void LoseAgent(const std::vector<ProcId>& procs);
  bool IsAway(const ProcId& proc) const { return away_.contains(proc); }
  void Reattach(const ProcId& proc);

 private:
  // Identifies an operation on one list of participants; the sequence is
  // unused.
  using Series = core::CollectiveId;

  void Send(const ProcId& proc, core::Input input);
  void Ask(const ProcId& proc, RequestId request, core::Input input);
  void Record(const ProcId& proc, RequestId request, const core::Input& input);
  bool GoesToBarrier(const ProcId& proc,
                     const core::CollectiveArrived& in) const;
  RequestId Arrive(const ProcId& proc, core::CollectiveArrived in);
  void CheckAnswer(NodeId node, const core::ReplyClient& a);
  TimeNs DelayOf(RequestId request) const;
  void Receive(RequestId request, Answer answer);
  void CountEnd(RequestId request, int status);
  void CountLeave(const ProcId& proc, const core::Input& input, int status);

  const Settings& settings_;
  const JobCatalog& jobs_;
  AgentInputs& inputs_;
  Oracle& oracle_;
  Errors& errors_;
  std::map<ProcId, ClientId> ids_;
  std::map<ClientId, NodeId> node_of_;
  ClientId last_client_ = 0;
  RequestId last_request_ = 0;
  std::map<RequestId, Answer> answers_;
  std::map<ClientId, RequestId> at_barrier_;
  std::map<RequestId, ProcId> gets_;            // target of each get
  std::map<RequestId, ProcId> lookups_;         // caller of each lookup
  std::map<RequestId, ClientId> on_their_way_;  // receivers of answers
  std::vector<Notice> notices_;
  // The events that each process's library has recorded, under all its agents.
  std::map<ProcId, RecentEvents> notified_;
  std::map<ProcId, core::EventsWanted> wanted_;
  std::vector<ClientId> closed_;
  std::set<ProcId> away_;
  // The requests to send again after a reattach.
  std::map<RequestId, std::pair<ProcId, core::Input>> pending_;
  std::map<ProcId, std::vector<core::ScopedData>> commits_;
  std::map<ProcId, std::map<Series, uint64_t>> ended_;
  // By process: the destructs of the groups of which the process is a member,
  // by name, and the destructs of the groups that the process has left since.
  std::map<ProcId, std::map<std::string, Series>> groups_;
  std::map<ProcId, std::set<Series>> left_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_CLIENTS_H_
