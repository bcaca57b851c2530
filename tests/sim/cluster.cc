#include "tests/sim/cluster.h"

#include <algorithm>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "server/core/kval.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

JobSpec MakeJob(const std::string& nspace, const std::vector<NodeId>& agents) {
  JobSpec job;
  job.nspace = nspace;
  job.apps.resize(1);
  job.apps[0].cmd = "app";
  job.apps[0].argv = {"app"};
  job.apps[0].num_procs = static_cast<uint32_t>(agents.size());
  std::map<NodeId, uint32_t> index;
  for (const NodeId agent : agents) {
    const auto [it, added] =
        index.try_emplace(agent, static_cast<uint32_t>(job.nodes.size()));
    if (added) job.nodes.push_back({"n" + std::to_string(agent), {}, agent, 8});
    job.procs.push_back({it->second, 0, ""});
  }
  job.stdin_target = StdinTarget::kNone;
  return job;
}

JobSpec MakeJob(const std::string& nspace, uint32_t nodes, uint32_t per_node) {
  std::vector<NodeId> agents;
  for (NodeId node = 0; node < nodes; ++node) {
    agents.insert(agents.end(), per_node, node);
  }
  return MakeJob(nspace, agents);
}

std::string Kval(const std::string& key, const std::string& value) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(value);
  return encoder.Take();
}

std::optional<std::string> ValueOf(std::string_view kvals,
                                   const std::string& key) {
  KvalPiece piece;
  while (TakeKval(&kvals, &piece)) {
    if (piece.key != key) continue;
    Decoder decoder(piece.whole);
    std::string_view text;
    uint16_t type = 0;
    if (decoder.GetString(&text) && decoder.GetUint16(&type) &&
        decoder.GetString(&text)) {
      return std::string(text);
    }
  }
  return std::nullopt;
}

Cluster::Cluster(uint32_t nodes, uint32_t radix, uint64_t seed)
    : radix_(radix), nodes_(nodes), rng_(seed) {
  for (NodeId i = 0; i < nodes; ++i) {
    nodes_[i].core = std::make_unique<AgentCore>(ConfigOf(i));
  }
}

CoreConfig Cluster::ConfigOf(NodeId node) const {
  CoreConfig config;
  config.self = node;
  config.radix = radix_;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    config.node_names.push_back("n" + std::to_string(i));
  }
  return config;
}

// ------------------------------------------------------------- requests ---

NodeId Cluster::NodeOf(const ProcId& proc) const {
  const JobSpec& job = jobs_.at(proc.nspace);
  return job.nodes[job.procs[proc.rank].node].agent;
}

void Cluster::Input(NodeId node, core::Input input) {
  Post(now_, node, std::move(input));
}

void Cluster::Launch(const JobSpec& job) {
  jobs_[job.nspace] = job;
  NodeId root = 0;
  while (!nodes_[root].alive) ++root;
  Input(root, LaunchRequested{std::make_shared<const JobSpec>(job)});
  Run();
}

void Cluster::LaunchConnected(const JobSpec& job) {
  Launch(job);
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    Connect({job.nspace, rank});
  }
  Run();
}

ClientId Cluster::Connect(const ProcId& proc) {
  const ClientId id = ++last_client_;
  clients_[proc] = id;
  node_of_client_[id] = NodeOf(proc);
  Input(NodeOf(proc), ClientConnected{id, proc});
  return id;
}

void Cluster::Disconnect(const ProcId& proc) {
  Input(NodeOf(proc), ClientGone{clients_.at(proc)});
}

void Cluster::Commit(const ProcId& proc, Scope scope, const std::string& key,
                     const std::string& value) {
  Input(NodeOf(proc),
        Committed{clients_.at(proc), 0, {{scope, Bytes(Kval(key, value))}}});
}

RequestId Cluster::Fence(const ProcId& proc, std::vector<ProcId> participants,
                         bool collect, uint32_t timeout_ms) {
  const RequestId request = NewRequest();
  Input(NodeOf(proc), CollectiveArrived{clients_.at(proc),
                                        request,
                                        CollectiveOp::kFence,
                                        std::move(participants),
                                        collect,
                                        timeout_ms,
                                        {}});
  return request;
}

RequestId Cluster::Collective(CollectiveOp op, const ProcId& proc,
                              std::vector<ProcId> participants,
                              uint32_t timeout_ms) {
  const RequestId request = NewRequest();
  Input(NodeOf(proc), CollectiveArrived{clients_.at(proc),
                                        request,
                                        op,
                                        std::move(participants),
                                        false,
                                        timeout_ms,
                                        {}});
  return request;
}

RequestId Cluster::Get(const ProcId& proc, GetArrived get) {
  get.client = clients_.at(proc);
  get.request = NewRequest();
  const RequestId request = get.request;
  Input(NodeOf(proc), std::move(get));
  return request;
}

void Cluster::Exit(const ProcId& proc, int wait_status) {
  const NodeId node = NodeOf(proc);
  if (nodes_[node].running[proc.nspace].erase(proc.rank) == 0) return;
  if (clients_.contains(proc)) Disconnect(proc);
  ProcExit exit;
  exit.rank = proc.rank;
  exit.wait_status = wait_status;
  Input(node, LocalExits{proc.nspace, {exit}});
}

void Cluster::KillNode(NodeId node) {
  nodes_[node].alive = false;
  nodes_[node].core.reset();
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (!nodes_[other].alive) continue;
    Post(now_ + static_cast<TimeNs>(rng_() % (3 * max_delay_)), other,
         NodeStateChanged{node, false, "killed by the test"});
  }
}

void Cluster::ReviveNode(NodeId node) {
  Node& back = nodes_[node];
  const uint64_t life = back.life + 1;
  back = Node();
  back.life = life;
  back.core = std::make_unique<AgentCore>(ConfigOf(node));
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (other == node) continue;
    if (!nodes_[other].alive) {
      Input(node, NodeStateChanged{other, false, "was lost before"});
      continue;
    }
    // After the news of its loss.
    const TimeNs delay = 3 * max_delay_ + rng_() % (3 * max_delay_);
    Post(now_ + delay, other, NodeStateChanged{node, true, ""});
  }
}

// ------------------------------------------------------------ the engine ---

void Cluster::Post(TimeNs when, NodeId node, core::Input input, NodeId from) {
  const uint64_t from_life = from == kNoNode ? 0 : nodes_[from].life;
  queue_.emplace(
      std::pair(when, sequence_++),
      Event{nodes_[node].life, from_life, node, std::move(input), from});
}

bool Cluster::RunOne() {
  if (queue_.empty()) return false;
  auto item = queue_.extract(queue_.begin());
  now_ = std::max(now_, item.key().first);
  Event& event = item.mapped();
  const Node& node = nodes_[event.node];
  if (!node.alive || node.life != event.life) return true;
  // What a dead node sent and nobody has read is lost with its connections.
  if (event.from != kNoNode && (!nodes_[event.from].alive ||
                                nodes_[event.from].life != event.from_life)) {
    return true;
  }
  Step(event.node, std::move(event.input));
  return true;
}

void Cluster::Run() {
  while (RunOne()) {
  }
}

bool Cluster::RunTimersUntil(TimeNs end) {
  NodeId due = kNoNode;
  TimeNs when = end;
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].alive && nodes_[node].deadline < when) {
      due = node;
      when = nodes_[node].deadline;
    }
  }
  if (due == kNoNode) return false;
  if (!queue_.empty() && queue_.begin()->first.first <= when) return false;
  now_ = std::max(now_, when);
  nodes_[due].deadline = kNever;
  Step(due, Tick{});
  return true;
}

void Cluster::RunFor(TimeNs duration) {
  const TimeNs end = now_ + duration;
  for (;;) {
    if (RunTimersUntil(end)) continue;
    if (queue_.empty() || queue_.begin()->first.first > end) break;
    RunOne();
  }
  now_ = end;
}

void Cluster::Step(NodeId node, core::Input input) {
  if (const auto* peer = std::get_if<PeerArrived>(&input)) {
    const size_t kind = peer->message.body.index();
    ++messages_[kind];
    ++nodes_[node].received[kind];
  }
  Execute(node, nodes_[node].core->Step(now_, std::move(input)));
  if (checker_) checker_();
}

void Cluster::Execute(NodeId node, Actions actions) {
  bool replied = false;
  for (Action& action : actions) {
    replied |= std::holds_alternative<ReplyClient>(action);
    const auto* peer = std::get_if<SendPeer>(&action);
    if (one_release_a_step_ && replied && peer != nullptr &&
        std::holds_alternative<CollectiveDown>(peer->message.body)) {
      errors_.push_back("release sent on after a reply");
    }
    std::visit([&](auto& a) { Do(node, a); }, action);
  }
}

void Cluster::Do(NodeId node, SendPeer& a) {
  const NodeId to = a.message.dst;
  if (to == node || to >= nodes_.size()) {
    errors_.push_back("message to nobody");
    return;
  }
  a.message.src = node;
  TimeNs when = now_ + static_cast<TimeNs>(rng_() % max_delay_);
  TimeNs& last = last_arrival_[{node, to}];
  const bool overtakes = overtaking_ != 0 && rng_() % overtaking_ == 0;
  if (!overtakes) last = when = std::max(when, last);
  Post(when, to, PeerArrived{std::move(a.message)}, node);
}

void Cluster::Do(NodeId node, ReplyClient& a) {
  if (!node_of_client_.contains(a.client) ||
      node_of_client_[a.client] != node) {
    errors_.push_back("reply to a client of another node");
  }
  const bool added =
      answers_
          .try_emplace(a.request,
                       Answer{a.status, std::string(a.payload.view()), now_})
          .second;
  if (!added) errors_.push_back("a request was answered twice");
}

void Cluster::Do(NodeId, NotifyClient& a) {
  notices_.push_back({a.client, a.status, a.source});
}

void Cluster::Do(NodeId, CloseClient& a) { closed_.push_back(a.client); }

void Cluster::Do(NodeId node, RegisterJob& a) {
  if (!nodes_[node].registered.insert(a.job->nspace).second) {
    errors_.push_back("job registered twice");
  }
}

void Cluster::Do(NodeId node, DropJob& a) {
  if (nodes_[node].registered.erase(a.nspace) == 0) {
    errors_.push_back("job dropped that is not registered");
  }
  std::erase_if(nodes_[node].published, [&](const auto& item) {
    return item.first.nspace == a.nspace;
  });
}

void Cluster::Do(NodeId node, PublishRank& a) {
  if (!nodes_[node].registered.contains(a.proc.nspace)) {
    errors_.push_back("published for a job that is not registered");
  }
  nodes_[node].published[a.proc] = a;
}

void Cluster::Do(NodeId node, PrepareLocal& a) {
  nodes_[node].layouts[a.job->nspace] = a.layout;
  Input(node, LocalPrepared{a.job->nspace, 0, ""});
}

void Cluster::Do(NodeId node, StartLocal& a) {
  const JobLayout& layout = *nodes_[node].layouts.at(a.nspace);
  const auto& ranks = layout.ranks_on(layout.node_of_agent(node));
  nodes_[node].running[a.nspace].insert(ranks.begin(), ranks.end());
  Input(node,
        LocalStarted{a.nspace, static_cast<uint32_t>(ranks.size()), 0, ""});
}

void Cluster::Do(NodeId node, KillLocal& a) {
  if (ignore_kills_) return;
  const std::set<Rank> running = nodes_[node].running[a.nspace];
  for (const Rank rank : running) {
    if (!a.ranks.empty() && std::ranges::count(a.ranks, rank) == 0) continue;
    Exit({a.nspace, rank}, 15);
  }
}

void Cluster::Do(NodeId node, SetDeadline& a) {
  nodes_[node].deadline = a.when;
}

void Cluster::Do(NodeId, JobChanged& a) { job_changes_.push_back(a); }
void Cluster::Do(NodeId, StateCollected& a) { states_.push_back(a); }
void Cluster::Do(NodeId, LogLine& a) { log_.push_back(a.text); }

// --------------------------------------------------------------- results ---

const Answer* Cluster::answer(RequestId request) const {
  const auto it = answers_.find(request);
  return it == answers_.end() ? nullptr : &it->second;
}

int Cluster::status(RequestId request) const {
  const Answer* a = answer(request);
  return a == nullptr ? -1000 : a->status;
}

std::string Cluster::Published(NodeId node, const ProcId& proc) const {
  const auto it = nodes_[node].published.find(proc);
  if (it == nodes_[node].published.end()) return "";
  return std::string(it->second.visible.view());
}

std::vector<std::string> Cluster::Outside(NodeId node,
                                          const ProcId& proc) const {
  const auto it = nodes_[node].published.find(proc);
  if (it == nodes_[node].published.end()) return {};
  return it->second.outside;
}

bool Cluster::IsRegistered(NodeId node, const std::string& nspace) const {
  return nodes_[node].registered.contains(nspace);
}

uint64_t Cluster::received(NodeId node, size_t kind) const {
  const auto it = nodes_[node].received.find(kind);
  return it == nodes_[node].received.end() ? 0 : it->second;
}

}  // namespace canopy::sim
