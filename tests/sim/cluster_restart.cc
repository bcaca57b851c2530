// One agent in the place of another: what stand-ins for shims, processes and
// launchers keep for the next one, and how they go on with it.
#include <algorithm>
#include <utility>

#include "common/refusal.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

void Cluster::set_restarts() {
  restarts_ = true;
  oracle_.set_restarts();
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    nodes_[node].core = std::make_unique<AgentCore>(ConfigOf(node));
  }
}

// ----------------------------------------------------------------- shims ---

uint64_t Cluster::KeepOutput(NodeId node, LocalOutput output) {
  Shim& shim = nodes_[node].shims[output.nspace];
  output.end = shim.output_end += output.data.size();
  shim.output.push_back(std::move(output));
  return shim.output_end;
}

// As after Resume: what has no credit, ends of streams, then all exits.
void Cluster::ReportAgain(NodeId node, const std::string& nspace) {
  const auto it = nodes_[node].shims.find(nspace);
  if (it == nodes_[node].shims.end()) return;
  const Shim& shim = it->second;
  for (const LocalOutput& output : shim.output) Input(node, output);
  for (const LocalOutput& close : shim.closed) Input(node, close);
  if (!shim.exits.empty()) Input(node, LocalExits{nspace, shim.exits});
}

void Cluster::Do(NodeId node, CreditOutput& a) {
  const auto it = nodes_[node].shims.find(a.nspace);
  if (it == nodes_[node].shims.end()) return;
  Shim& shim = it->second;
  shim.credit =
      a.total != 0 ? std::max(shim.credit, a.total) : shim.credit + a.bytes;
  std::erase_if(shim.output, [&](const LocalOutput& output) {
    return output.end <= shim.credit;
  });
}

void Cluster::Do(NodeId node, ResendOutput& a) { ReportAgain(node, a.nspace); }

void Cluster::Do(NodeId node, PersistRecord& a) {
  if (!restarts_) return;
  std::vector<PersistedRecord>& journal = nodes_[node].shims[a.nspace].journal;
  const auto old = std::ranges::find(journal, a.key, &PersistedRecord::key);
  if (old != journal.end()) {
    if (old->value.view() == a.value.view()) return;
    journal.erase(old);
  }
  journal.push_back({a.key, a.value});
}

void Cluster::Do(NodeId node, PersistControlState& a) {
  const auto it = nodes_[node].control.find(a.nspace);
  if (it != nodes_[node].control.end()) it->second = a.state;
}

void Cluster::Do(NodeId node, ForgetLocal& a) {
  if (!restarts_) return;
  nodes_[node].shims.erase(a.nspace);
  for (const Rank rank : std::exchange(nodes_[node].running[a.nspace], {})) {
    away_.erase({a.nspace, rank});
    if (on_exit_) on_exit_({a.nspace, rank});
  }
}

// --------------------------------------------------------------- clients ---

void Cluster::FromClient(const ProcId& proc, core::Input input) {
  if (!away_.contains(proc)) Input(NodeOf(proc), std::move(input));
}

void Cluster::Ask(const ProcId& proc, RequestId request, core::Input input) {
  if (restarts_) unanswered_[request] = {proc, input};
  FromClient(proc, std::move(input));
}

void Cluster::CountEnd(RequestId request, int status) {
  const auto it = unanswered_.find(request);
  if (it == unanswered_.end()) return;
  const auto& [proc, input] = it->second;
  const auto* arrived = std::get_if<CollectiveArrived>(&input);
  if (arrived != nullptr && !IsRefusal(status)) {
    ++ended_[proc][{arrived->op, arrived->participants}];
  }
  unanswered_.erase(it);
}

void Cluster::Reconnect(const ProcId& proc) {
  away_.erase(proc);
  const ClientId client = Connect(proc);
  ClientReattached resumed{client, {}};
  for (const auto& [set, ended] : ended_[proc]) {
    resumed.counts.push_back({set.first, set.second, ended});
  }
  FromClient(proc, std::move(resumed));
  if (Committed all{client, 0, commits_[proc]}; !all.data.empty()) {
    FromClient(proc, std::move(all));
  }
  for (auto& [request, asked] : unanswered_) {
    if (asked.first != proc) continue;
    std::visit(
        [&](auto& in) {
          if constexpr (requires { in.client; }) in.client = client;
        },
        asked.second);
    FromClient(proc, asked.second);
  }
}

// ---------------------------------------------------------------- agents ---

// Messages that it had in its hands are gone with it, and those on their way
// through it may be. What a person asked for is asked again.
std::vector<core::Input> Cluster::LoseMessages(NodeId node) {
  std::vector<core::Input> kept;
  std::erase_if(queue_, [&](const auto& item) {
    const Event& event = item.second;
    if (event.what || event.news) return false;
    if (event.from == kNoNode) {
      if (event.node != node) return false;
      if (std::holds_alternative<KillRequested>(event.input)) {
        kept.push_back(event.input);
      }
      return true;
    }
    if (event.from == node || event.node == node) return true;
    const auto path = PathOf(tree_, event.from, event.node);
    return std::ranges::count(path, node) > 0 && rng_() % 2 == 0;
  });
  return kept;
}

void Cluster::RestartNode(NodeId node) {
  Node& n = nodes_[node];
  if (!n.alive) return;
  SetDeadline(node, kNever);
  std::vector<core::Input> again = LoseMessages(node);
  ++n.life;
  ++n.net_life;
  n.recovered = true;
  n.registered.clear();
  const auto published = std::exchange(n.published, {});
  oracle_.OnNodeReset(node);
  n.core = std::make_unique<AgentCore>(ConfigOf(node));
  ForgetNews(node);
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (other == node) continue;
    const Node& o = nodes_[other];
    Believe(node, {other, o.alive, o.net_life, "", o.recovered});
    Tell(now_ + RandomDelay(6), other, {node, true, n.net_life, "", true});
  }
  for (const auto& [proc, client] : clients_) {
    if (NodeOf(proc) == node && IsRunning(proc)) away_.insert(proc);
  }
  Recover(node, published);
  for (core::Input& input : again) Input(node, std::move(input));
  for (const ProcId& proc : std::set<ProcId>(away_)) {
    if (NodeOf(proc) != node) continue;
    At(now_ + RandomDelay(10), [this, proc] {
      if (away_.contains(proc) && IsRunning(proc)) Reconnect(proc);
    });
  }
}

void Cluster::Recover(NodeId node,
                      const std::map<ProcId, PublishRank>& published) {
  std::map<std::string, Bytes> control = nodes_[node].control;
  std::vector<std::string> shims;
  for (const auto& [nspace, shim] : nodes_[node].shims) shims.push_back(nspace);
  for (const std::string& nspace : shims) {
    const Shim& shim = nodes_[node].shims.at(nspace);
    JobRecovered in;
    in.job = std::make_shared<const JobSpec>(jobs_.at(nspace));
    in.started = shim.started;
    in.records = shim.journal;
    for (const auto& [proc, data] : published) {
      if (proc.nspace == nspace && NodeOf(proc) != node) {
        in.published.push_back(data);
      }
    }
    if (const auto own = control.extract(nspace)) in.control = own.mapped();
    in.over = nodes_[node].over.contains(nspace);
    Step(node, std::move(in));
    ReportAgain(node, nspace);
  }
  for (const auto& [nspace, state] : control) {
    JobRecovered in;
    in.job = std::make_shared<const JobSpec>(jobs_.at(nspace));
    in.has_shim = false;
    in.control = state;
    Step(node, std::move(in));
  }
  for (const auto& [nspace, state] : nodes_[node].control) {
    At(now_ + RandomDelay(10), [this, node, nspace, life = nodes_[node].life] {
      if (nodes_[node].life == life) AttachCaller(node, nspace);
    });
  }
}

void Cluster::AttachCaller(NodeId node, const std::string& nspace) {
  const JobSpec& job = jobs_.at(nspace);
  std::vector<uint64_t> received(job.nodes.size());
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    received[job.procs[rank].node] += delivered({nspace, rank});
  }
  Input(node, LauncherReattached{nspace, std::move(received)});
}

}  // namespace canopy::sim
