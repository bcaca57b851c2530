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
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/agent_core.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/input.h"
#include "server/core/tree.h"
#include "tests/sim/oracle.h"

namespace canopy::sim {

using core::ClientId;
using core::RequestId;
using core::TimeNs;

inline constexpr TimeNs kMs = 1'000'000;

// The members on the way between two, both included.
std::vector<NodeId> PathOf(const core::Tree& tree, NodeId from, NodeId to);

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
  // Only data does so: collectives, direct modex, events and questions.
  void set_overtaking(uint32_t n) { overtaking_ = n; }
  // With a chance of 1 in n, a message comes twice, the second time up to ten
  // times as late. Streams do not: their links number every packet.
  void set_duplicates(uint32_t n) { duplicates_ = n; }
  // Processes write this many lines at their end, and close their streams when
  // they end.
  void set_lines(uint32_t lines) { lines_ = lines; }
  // Processes that are told to end take up to this long.
  void set_kill_delay(TimeNs delay) { kill_delay_ = delay; }
  // Called when a process exists, for whoever plays it.
  void set_on_start(std::function<void(const ProcId&)> on_start) {
    on_start_ = std::move(on_start);
  }
  // Called after a process has ended, however.
  void set_on_exit(std::function<void(const ProcId&)> on_exit) {
    on_exit_ = std::move(on_exit);
  }
  // Called when a request is answered.
  void set_on_answer(std::function<void(RequestId)> on_answer) {
    on_answer_ = std::move(on_answer);
  }
  // Processes that are told to end go on: what is tested is not the policy.
  void set_ignore_kills(bool ignore) { ignore_kills_ = ignore; }
  // No step ends more than one collective: then a release must go down before
  // the first reply.
  void set_one_release_a_step() { one_release_a_step_ = true; }
  // Called after every step of every core.
  void set_checker(std::function<void()> checker) {
    checker_ = std::move(checker);
  }

  // Agents may be restarted. Before anything else.
  void set_restarts();
  // The agent is killed and its successor recovers at once: the others learn of
  // it one by one, and its clients and launchers reattach, each after a time.
  void RestartNode(NodeId node);

  // Every step goes to standard error.
  void set_trace(bool trace) { trace_ = trace; }

  // Asks for it at the root.
  void BeginLaunch(const JobSpec& job);
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
  // PMIx_Abort of its whole job.
  RequestId Abort(const ProcId& proc, int status, const std::string& text);
  void Exit(const ProcId& proc, int wait_status);
  // Calls finalize, then ends with exit code 0.
  void Leave(const ProcId& proc);
  bool IsRunning(const ProcId& proc) const;
  // The next request's number, for inputs made by hand.
  RequestId NewRequest() { return ++last_request_; }
  void Input(NodeId node, core::Input input);

  // The agent is gone at once. Its neighbours in the tree detect it, each after
  // a time, and inform the others; messages in flight through it may be lost
  // until they know.
  void KillNode(NodeId node);
  bool alive(NodeId node) const { return nodes_[node].alive; }
  // A new incarnation of it without state joins; the others learn of it one by
  // one, and it of those that are lost.
  void ReviveNode(NodeId node);
  // It learns that it was declared lost: it sees the loss and return of all
  // others, and they see its own. Its processes survive.
  void Rejoin(NodeId node);
  // Partition: agents on different sides lose contact, and after a time declare
  // each other lost. `cut_off`: those without the root's side.
  void Split(const std::set<NodeId>& cut_off);
  // Links are back: those that were cut off join again.
  void Heal();
  // Nothing crosses the link between a node and its parent for that long; it
  // comes afterwards, in order.
  void Stall(NodeId node, TimeNs duration);
  NodeId root() const { return tree_.root(); }
  const core::Tree& tree() const { return tree_; }

  // Runs until nothing is under way; deadlines are not waited for.
  void Run();
  // One event; false when there is none.
  bool RunOne();
  // The next event or deadline up to `end`; false when there is none.
  bool RunNext(TimeNs end);
  // Runs for that long, with deadlines.
  void RunFor(TimeNs duration);
  // Has it done at that time.
  void At(TimeNs when, std::function<void()> what);
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
  // Bytes of the job's output that have come to the root.
  uint64_t delivered(const ProcId& proc) const;
  // Signals that a process has got.
  uint32_t signals(const ProcId& proc) const;
  core::ResourceCounts Count(NodeId node) const {
    return nodes_[node].core->Count();
  }
  // Jobs of which something is left on a living node: processes, shared
  // memory, or anything that its core holds. One line each.
  std::vector<std::string> Leftovers() const;
  void AddError(std::string error) { errors_.push_back(std::move(error)); }
  // Anything that must never happen: see each use in cluster.cc.
  const std::vector<std::string>& errors() const { return errors_; }
  std::mt19937_64& rng() { return rng_; }

 private:
  // What holds the processes of a job on a node, and what it keeps.
  struct Shim {
    bool started = false;
    std::vector<core::PersistedRecord> journal;  // oldest first
    std::vector<core::LocalOutput> output;       // without credit
    uint64_t output_end = 0;
    uint64_t credit = 0;
    std::vector<core::LocalOutput> closed;
    std::vector<core::ProcExit> exits;
  };
  struct Node {
    std::unique_ptr<core::AgentCore> core;
    bool alive = true;
    uint64_t life = 0;      // of its core
    uint64_t net_life = 0;  // of its links
    int side = 0;           // of a network in two parts
    TimeNs deadline = core::kNever;
    std::map<ProcId, core::PublishRank> published;
    std::set<std::string> registered;
    std::map<size_t, uint64_t> received;
    // Processes that run here.
    std::map<std::string, std::set<Rank>> running;
    uint64_t machine = 0;    // of its processes
    bool recovered = false;  // its core goes on in the place of another
    bool forgot = false;     // who was there in the beginning
    std::map<std::string, Shim> shims;
    // Of jobs that are controlled here, and of those that are over.
    std::map<std::string, Bytes> control;
    std::set<std::string> over;
    std::map<std::string, std::shared_ptr<const JobLayout>> layouts;
  };
  // A state of a member as the overlay tells it: of one life, down is the last
  // word.
  struct News {
    NodeId subject = kNoNode;
    bool up = false;
    uint64_t net_life = 0;
    std::string reason;
    bool recovered = false;  // this life goes on with the jobs of the last one
  };
  struct Event {
    NodeId node = 0;
    core::Input input;
    uint64_t life = 0;  // of the receiver's core
    // Of a message: who sent it, and the lives of both ends' links.
    NodeId from = kNoNode;
    uint64_t net_life = 0;
    uint64_t from_life = 0;
    size_t heard = 0;            // news that its sender had heard
    std::optional<News> news;    // instead of an input
    std::function<void()> what;  // instead of both
  };
  // A lost node whose neighbours do not all know yet.
  struct Hole {
    core::Tree tree;  // with it
    NodeId node = kNoNode;
    uint64_t net_life = 0;
    std::map<NodeId, TimeNs> known;  // by neighbour: when it notices
    TimeNs end = 0;
  };
  // What a node believes of another.
  struct View {
    uint64_t net_life = 0;
    bool up = true;
    bool cleared = false;  // it forgot everything and waits for news
  };

  void Post(TimeNs when, NodeId node, core::Input input);
  void PostMessage(TimeNs when, NodeId from, core::PeerMessage message);
  bool Deliverable(const Event& event) const;
  void Tell(TimeNs when, NodeId observer, News news);
  void Apply(NodeId observer, const News& news);
  void Believe(NodeId observer, News news);
  void ForgetNews(NodeId observer);
  std::map<NodeId, News> KnownFirst(NodeId from, NodeId node);
  // The news that travel ahead of a message.
  void CatchUp(const Event& message);
  View& ViewOf(NodeId observer, NodeId subject) {
    return views_[{observer, subject}];
  }
  void SpreadLoss(NodeId node, const core::Tree& before);
  bool FallsIntoHole(NodeId from, NodeId to, TimeNs* when);
  TimeNs AfterStalls(NodeId from, NodeId to, TimeNs when) const;
  TimeNs RandomDelay(uint64_t times = 1);
  void SetDeadline(NodeId node, TimeNs when);
  // Returns its end.
  uint64_t KeepOutput(NodeId node, core::LocalOutput output);
  void ReportAgain(NodeId node, const std::string& nspace);
  void FromClient(const ProcId& proc, core::Input input);
  void Ask(const ProcId& proc, RequestId request, core::Input input);
  void CountEnd(RequestId request, int status);
  void Reconnect(const ProcId& proc);
  std::vector<core::Input> LoseMessages(NodeId node);
  void Recover(NodeId node,
               const std::map<ProcId, core::PublishRank>& published);
  void AttachCaller(NodeId node, const std::string& nspace);
  void End(NodeId node, const ProcId& proc, int wait_status, bool connected);
  void Step(NodeId node, core::Input input);
  void Trace(NodeId node, const std::string& what,
             const core::Actions& actions) const;
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
  void Do(NodeId node, core::SignalLocal& a);
  void Do(NodeId node, core::KillLocal& a);
  void Do(NodeId node, core::SetDeadline& a);
  void Do(NodeId node, core::CreditOutput& a);
  void Do(NodeId node, core::ResendOutput& a);
  void Do(NodeId node, core::PersistRecord& a);
  void Do(NodeId node, core::PersistControlState& a);
  void Do(NodeId node, core::ForgetLocal& a);
  void Do(NodeId node, core::JobChanged& a);
  void Do(NodeId node, core::DeliverOutput& a);
  void Do(NodeId node, core::StateCollected& a);
  void Do(NodeId node, core::LogLine& a);
  template <typename T>
  void Do(NodeId, T&) {}
  NodeId NodeOf(const ProcId& proc) const;
  core::CoreConfig ConfigOf(NodeId node) const;

  const uint32_t radix_;
  bool restarts_ = false;
  std::vector<Node> nodes_;
  std::mt19937_64 rng_;
  TimeNs now_ = 0;
  bool trace_ = false;
  TimeNs max_delay_ = 1 * kMs;
  uint32_t overtaking_ = 0;
  bool ignore_kills_ = false;
  bool one_release_a_step_ = false;
  uint32_t duplicates_ = 0;
  uint32_t lines_ = 0;
  TimeNs kill_delay_ = 0;
  // Who is there, as an observer above the cluster sees it.
  core::Tree tree_;
  std::vector<Hole> holes_;
  NodeId mute_ = kNoNode;            // it is being told that everybody is lost
  std::map<NodeId, TimeNs> stalls_;  // of the link to the parent; until when
  std::map<std::pair<NodeId, NodeId>, View> views_;
  // What each node has heard, in order, and how much of that another (the first
  // of the pair) has got with messages of it (the second).
  std::vector<std::vector<News>> heard_;
  std::map<std::pair<NodeId, NodeId>, size_t> passed_on_;
  std::set<std::pair<TimeNs, NodeId>> timers_;
  Oracle oracle_;
  std::function<void(const ProcId&)> on_start_;
  std::function<void(const ProcId&)> on_exit_;
  std::function<void(RequestId)> on_answer_;
  std::map<ProcId, uint64_t> delivered_;
  std::map<ProcId, uint32_t> signals_;
  std::set<std::tuple<NodeId, uint64_t, std::string>> started_;
  std::map<RequestId, ProcId> gets_;
  std::map<std::pair<TimeNs, uint64_t>, Event> queue_;
  uint64_t sequence_ = 0;
  std::map<std::pair<NodeId, NodeId>, TimeNs> last_arrival_;
  std::map<std::string, JobSpec> jobs_;
  std::map<ProcId, ClientId> clients_;
  std::map<ClientId, NodeId> node_of_client_;
  ClientId last_client_ = 0;
  RequestId last_request_ = 0;
  std::map<RequestId, Answer> answers_;
  // Processes whose agent was restarted, until they have found the next one;
  // and what they have done and asked for, if agents are restarted.
  std::set<ProcId> away_;
  std::map<RequestId, std::pair<ProcId, core::Input>> unanswered_;
  std::map<ProcId, std::vector<core::ScopedData>> commits_;
  std::map<ProcId, std::map<std::pair<core::CollectiveOp, std::vector<ProcId>>,
                            uint64_t>>
      ended_;
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
