// A cluster of agents' cores in one process: simulated time, a network whose
// delays a seed chooses, and stand-ins for processes and shared memory.
#ifndef CANOPY_TESTS_SIM_CLUSTER_H_
#define CANOPY_TESTS_SIM_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/job.h"
#include "server/core/agent_core.h"
#include "server/core/step.h"

namespace canopy::sim {

using core::ClientId;
using core::RequestId;
using core::TimeNs;

inline constexpr TimeNs kMs = 1'000'000;

// A job with one application; rank r runs on agent `agents[r]`.
JobSpec MakeJob(const std::string& nspace, const std::vector<NodeId>& agents);
// `per_node` ranks on each of the agents 0 .. nodes-1, by slot.
JobSpec MakeJob(const std::string& nspace, uint32_t nodes, uint32_t per_node);

// A codec-form KVAL with a string value.
std::string Kval(const std::string& key, const std::string& value);
// The string value of a key among KVALs; nothing when absent.
std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key);

struct Answer {
  int status = 0;
  std::string payload;
  TimeNs when = 0;
};

struct Notice {
  ClientId client = 0;
  int status = 0;
  ProcId source;
};

class Cluster {
 public:
  Cluster(uint32_t nodes, uint32_t radix, uint64_t seed);

  // Messages take up to this long each; those of one pair stay in order.
  void set_max_delay(TimeNs delay) { max_delay_ = delay; }
  // With a chance of 1 in n, a message of one pair overtakes earlier ones.
  void set_overtaking(uint32_t n) { overtaking_ = n; }
  // Processes that are told to end go on: what is tested is not the policy.
  void set_ignore_kills(bool ignore) { ignore_kills_ = ignore; }
  // No step ends more than one collective: then a release must go down before
  // the first reply.
  void set_one_release_a_step() { one_release_a_step_ = true; }
  // Called after every step of every core.
  void set_checker(std::function<void()> checker) {
    checker_ = std::move(checker);
  }

  // Launches at the root and waits until every process runs.
  void Launch(const JobSpec& job);
  // Launches and connects every rank.
  void LaunchConnected(const JobSpec& job);
  ClientId Connect(const ProcId& proc);
  void Disconnect(const ProcId& proc);
  ClientId client(const ProcId& proc) const { return clients_.at(proc); }

  void Commit(const ProcId& proc, core::Scope scope, const std::string& key,
              const std::string& value);
  RequestId Fence(const ProcId& proc, std::vector<ProcId> participants = {},
                  bool collect = false, uint32_t timeout_ms = 0);
  RequestId Collective(core::CollectiveOp op, const ProcId& proc,
                       std::vector<ProcId> participants,
                       uint32_t timeout_ms = 0);
  RequestId Get(const ProcId& proc, core::GetArrived get);
  void Exit(const ProcId& proc, int wait_status);
  // The next request's number, for inputs made by hand.
  RequestId NewRequest() { return ++last_request_; }
  void Input(NodeId node, core::Input input);

  // The agent is gone at once; the others hear of it one by one.
  void KillNode(NodeId node);
  bool alive(NodeId node) const { return nodes_[node].alive; }
  // A new incarnation of it, which knows nothing, is there; the others hear of
  // it one by one, and it of those that are lost.
  void ReviveNode(NodeId node);

  // Runs until nothing is under way; deadlines are not waited for.
  void Run();
  // One event; false when there is none.
  bool RunOne();
  // Runs for that long, with deadlines.
  void RunFor(TimeNs duration);
  TimeNs now() const { return now_; }

  size_t pending() const { return queue_.size(); }

  // Null when not answered. Every request may be answered at most once.
  const Answer* answer(RequestId request) const;
  // -1000 when not answered.
  int status(RequestId request) const;
  const std::vector<Notice>& notices() const { return notices_; }
  // What a node's shared memory shows of a rank.
  std::string Published(NodeId node, const ProcId& proc) const;
  std::vector<std::string> Outside(NodeId node, const ProcId& proc) const;
  bool IsRegistered(NodeId node, const std::string& nspace) const;
  // Messages delivered so far between cores, by kind (index in MessageBody).
  uint64_t messages(size_t kind) const {
    const auto it = messages_.find(kind);
    return it == messages_.end() ? 0 : it->second;
  }
  // Messages of a kind that a node has got.
  uint64_t received(NodeId node, size_t kind) const;
  const std::vector<core::JobChanged>& job_changes() const {
    return job_changes_;
  }
  const std::vector<core::StateCollected>& states() const { return states_; }
  const std::vector<std::string>& log() const { return log_; }
  const std::vector<ClientId>& closed() const { return closed_; }
  // Anything that must never happen: see each use in cluster.cc.
  const std::vector<std::string>& errors() const { return errors_; }
  std::mt19937_64& rng() { return rng_; }

 private:
  struct Node {
    std::unique_ptr<core::AgentCore> core;
    bool alive = true;
    uint64_t life = 0;
    TimeNs deadline = core::kNever;
    std::map<ProcId, core::PublishRank> published;
    std::set<std::string> registered;
    std::map<size_t, uint64_t> received;
    // Processes that run here.
    std::map<std::string, std::set<Rank>> running;
    std::map<std::string, std::shared_ptr<const JobLayout>> layouts;
  };
  struct Event {
    uint64_t life = 0;       // of the receiver
    uint64_t from_life = 0;  // of the sender
    NodeId node = 0;
    core::Input input;
    NodeId from = kNoNode;
  };

  void Post(TimeNs when, NodeId node, core::Input input, NodeId from = kNoNode);
  void Step(NodeId node, core::Input input);
  void Execute(NodeId node, core::Actions actions);
  void Do(NodeId node, core::SendPeer& a);
  void Do(NodeId node, core::ReplyClient& a);
  void Do(NodeId node, core::NotifyClient& a);
  void Do(NodeId node, core::CloseClient& a);
  void Do(NodeId node, core::RegisterJob& a);
  void Do(NodeId node, core::DropJob& a);
  void Do(NodeId node, core::PublishRank& a);
  void Do(NodeId node, core::PrepareLocal& a);
  void Do(NodeId node, core::StartLocal& a);
  void Do(NodeId node, core::KillLocal& a);
  void Do(NodeId node, core::SetDeadline& a);
  void Do(NodeId node, core::JobChanged& a);
  void Do(NodeId node, core::StateCollected& a);
  void Do(NodeId node, core::LogLine& a);
  template <typename T>
  void Do(NodeId, T&) {}
  bool RunTimersUntil(TimeNs end);
  NodeId NodeOf(const ProcId& proc) const;
  core::CoreConfig ConfigOf(NodeId node) const;

  const uint32_t radix_;
  std::vector<Node> nodes_;
  std::mt19937_64 rng_;
  TimeNs now_ = 0;
  TimeNs max_delay_ = 1 * kMs;
  uint32_t overtaking_ = 0;
  bool ignore_kills_ = false;
  bool one_release_a_step_ = false;
  std::map<std::pair<TimeNs, uint64_t>, Event> queue_;
  uint64_t sequence_ = 0;
  std::map<std::pair<NodeId, NodeId>, TimeNs> last_arrival_;
  std::map<std::string, JobSpec> jobs_;
  std::map<ProcId, ClientId> clients_;
  std::map<ClientId, NodeId> node_of_client_;
  ClientId last_client_ = 0;
  RequestId last_request_ = 0;
  std::map<RequestId, Answer> answers_;
  std::map<RequestId, ClientId> asked_by_;
  std::vector<Notice> notices_;
  std::map<size_t, uint64_t> messages_;
  std::vector<core::JobChanged> job_changes_;
  std::vector<core::StateCollected> states_;
  std::vector<std::string> log_;
  std::vector<ClientId> closed_;
  std::vector<std::string> errors_;
  std::function<void()> checker_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_CLUSTER_H_
