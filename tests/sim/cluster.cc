#include "tests/sim/cluster.h"

#include <algorithm>
#include <array>
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

namespace {

std::string Describe(const ResourceCounts& c) {
  std::string out;
  const auto add = [&](const char* what, size_t n) {
    if (n > 0) out += std::string(what) + " " + std::to_string(n) + ", ";
  };
  add("jobs", c.jobs);
  add("launched", c.launched);
  add("clients", c.clients);
  add("collectives", c.collectives);
  add("connections", c.connections);
  add("deadlines", c.deadlines);
  add("gets", c.gets);
  add("fetches", c.fetches);
  add("modex", c.modex_jobs);
  add("map requests", c.map_requests);
  add("aborts", c.aborts);
  add("questions", c.questions);
  add("listeners", c.listeners);
  return out + "left";
}

}  // namespace

Cluster::Cluster(uint32_t nodes, uint32_t radix, uint64_t seed)
    : radix_(radix),
      nodes_(nodes),
      rng_(seed),
      tree_(nodes, radix),
      heard_(nodes),
      oracle_([this](const std::string& error) { AddError(error); }) {
  for (NodeId i = 0; i < nodes; ++i) {
    nodes_[i].core = std::make_unique<AgentCore>(ConfigOf(i));
  }
}

CoreConfig Cluster::ConfigOf(NodeId node) const {
  CoreConfig config;
  config.self = node;
  config.radix = radix_;
  config.persists = restarts_;
  config.began_at = now_;
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

void Cluster::BeginLaunch(const JobSpec& job) {
  jobs_[job.nspace] = job;
  oracle_.OnJob(job);
  if (restarts_) nodes_[root()].control[job.nspace] = {};
  Input(root(),
        LaunchRequested{std::make_shared<const JobSpec>(job), restarts_});
}

void Cluster::Launch(const JobSpec& job) {
  BeginLaunch(job);
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
  FromClient(proc, ClientGone{clients_.at(proc)});
}

void Cluster::Commit(const ProcId& proc, Scope scope, const std::string& key,
                     const std::string& value) {
  oracle_.OnCommit(proc, scope, key, value);
  Committed commit{clients_.at(proc), 0, {{scope, Bytes(Kval(key, value))}}};
  if (restarts_) commits_[proc].push_back(commit.data.front());
  FromClient(proc, std::move(commit));
}

RequestId Cluster::Fence(const ProcId& proc, std::vector<ProcId> participants,
                         bool collect, uint32_t timeout_ms) {
  const RequestId request = NewRequest();
  oracle_.OnArrive(proc, request, CollectiveOp::kFence, participants, collect);
  Ask(proc, request,
      CollectiveArrived{clients_.at(proc),
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
  oracle_.OnArrive(proc, request, op, participants, false);
  Ask(proc, request,
      CollectiveArrived{clients_.at(proc),
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
  gets_[request] = get.target;
  Ask(proc, request, std::move(get));
  return request;
}

RequestId Cluster::Abort(const ProcId& proc, int status,
                         const std::string& text) {
  const RequestId request = NewRequest();
  Ask(proc, request,
      AbortArrived{clients_.at(proc), request, status, text, {}});
  return request;
}

void Cluster::Exit(const ProcId& proc, int wait_status) {
  const NodeId node = NodeOf(proc);
  if (nodes_[node].running[proc.nspace].erase(proc.rank) == 0) return;
  End(node, proc, wait_status, clients_.contains(proc));
  if (on_exit_) on_exit_(proc);
}

void Cluster::Leave(const ProcId& proc) {
  FromClient(proc, FinalizeArrived{clients_.at(proc), NewRequest()});
  Exit(proc, 0);
}

void Cluster::End(NodeId node, const ProcId& proc, int wait_status,
                  bool connected) {
  if (connected) Disconnect(proc);
  away_.erase(proc);
  ProcExit exit;
  exit.rank = proc.rank;
  exit.wait_status = wait_status;
  if (restarts_) nodes_[node].shims[proc.nspace].exits.push_back(exit);
  if (lines_ == 0) return Input(node, LocalExits{proc.nspace, {exit}});
  for (uint32_t line = 0; line < lines_; ++line) {
    LocalOutput output{proc.nspace, proc.rank, 2, Bytes(std::string("line"))};
    if (restarts_) output.end = KeepOutput(node, output);
    Input(node, std::move(output));
  }
  // The shim hears of the end and of the streams' ends in any order.
  constexpr std::array<uint16_t, 2> kChannels = {2, 4};
  for (const uint16_t channel : kChannels) {
    const TimeNs delay = rng_() % 2 == 0 ? 0 : RandomDelay();
    LocalOutput close{proc.nspace, proc.rank, channel, {}};
    if (restarts_) {
      Shim& shim = nodes_[node].shims[proc.nspace];
      close.end = shim.output_end;
      shim.closed.push_back(close);
    }
    Post(now_ + delay, node, std::move(close));
  }
  Post(now_ + RandomDelay(), node, LocalExits{proc.nspace, {exit}});
}

bool Cluster::IsRunning(const ProcId& proc) const {
  const Node& node = nodes_[NodeOf(proc)];
  const auto it = node.running.find(proc.nspace);
  return node.alive && it != node.running.end() &&
         it->second.contains(proc.rank);
}

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

uint64_t Cluster::delivered(const ProcId& proc) const {
  const auto it = delivered_.find(proc);
  return it == delivered_.end() ? 0 : it->second;
}

uint32_t Cluster::signals(const ProcId& proc) const {
  const auto it = signals_.find(proc);
  return it == signals_.end() ? 0 : it->second;
}

std::vector<std::string> Cluster::Leftovers() const {
  std::vector<std::string> out;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    if (!node.alive) continue;
    const std::string where = " on node " + std::to_string(id);
    for (const auto& [nspace, ranks] : node.running) {
      if (!ranks.empty()) out.push_back("processes of " + nspace + where);
    }
    for (const std::string& nspace : node.registered) {
      out.push_back("the segment of " + nspace + where);
    }
    for (const auto& [nspace, shim] : node.shims) {
      out.push_back("the shim of " + nspace + where);
    }
    const ResourceCounts counts = Count(id);
    if (counts != ResourceCounts()) out.push_back(Describe(counts) + where);
  }
  return out;
}

uint64_t Cluster::received(NodeId node, size_t kind) const {
  const auto it = nodes_[node].received.find(kind);
  return it == nodes_[node].received.end() ? 0 : it->second;
}

}  // namespace canopy::sim
