#include "tests/sim/shims.h"

#include <algorithm>
#include <utility>

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr int kTerminated = 15;  // wait status of SIGTERM
// Streams of a process, as in LocalOutput.
constexpr uint16_t kOut = 2;
constexpr uint16_t kErr = 4;

}  // namespace

Shims::Shims(uint32_t nodes, const Settings& settings, const JobCatalog& jobs,
             EventQueue& queue, AgentInputs& inputs, Random& random,
             Errors& errors, OnProcess on_end)
    : settings_(settings),
      jobs_(jobs),
      queue_(queue),
      inputs_(inputs),
      random_(random),
      errors_(errors),
      on_end_(std::move(on_end)),
      nodes_(nodes) {}

// ---------------------------------------------------------------- actions ---

void Shims::On(NodeId node, PrepareLocal& a) {
  nodes_[node].layouts[a.job->nspace] = a.layout;
  if (settings_.persists) nodes_[node].shims[a.job->nspace];
  inputs_.Post(node, LocalPrepared{a.job->nspace, 0, ""});
}

void Shims::On(NodeId node, StartLocal& a) {
  const JobLayout& layout = *nodes_[node].layouts.at(a.nspace);
  const auto& ranks = layout.ranks_on(layout.node_of_agent(node));
  if (settings_.persists) nodes_[node].shims[a.nspace].started = true;
  if (!started_.insert({node, nodes_[node].boots, a.nspace}).second) {
    errors_.push_back("job " + a.nspace + " started twice on node " +
                      std::to_string(node));
  }
  nodes_[node].running[a.nspace].insert(ranks.begin(), ranks.end());
  inputs_.Post(
      node, LocalStarted{a.nspace, static_cast<uint32_t>(ranks.size()), 0, ""});
  for (const Rank rank : ranks) {
    if (settings_.hooks.on_start) settings_.hooks.on_start({a.nspace, rank});
  }
}

// Restarts a rank. A shim no longer reports a process that was replaced.
void Shims::On(NodeId node, RestartLocal& a) {
  Shim& shim = nodes_[node].shims[a.nspace];
  shim.incarnations[a.rank] = a.incarnation;
  std::erase_if(shim.exits,
                [&](const ProcExit& exit) { return exit.rank == a.rank; });
  std::erase_if(shim.closed,
                [&](const LocalOutput& end) { return end.rank == a.rank; });
  nodes_[node].running[a.nspace].insert(a.rank);
}

// Returns the running ranks among `ranks`, or all running ranks if `ranks` is
// empty.
std::vector<Rank> Shims::Selected(NodeId node, const std::string& nspace,
                                  const std::vector<Rank>& ranks) const {
  const auto running = nodes_[node].running.find(nspace);
  if (running == nodes_[node].running.end()) return {};
  std::vector<Rank> out(running->second.begin(), running->second.end());
  std::erase_if(out, [&](Rank rank) {
    return !ranks.empty() && std::ranges::count(ranks, rank) == 0;
  });
  return out;
}

void Shims::On(NodeId node, SignalLocal& a) {
  for (const Rank rank : Selected(node, a.nspace, a.ranks)) {
    ++signals_[{a.nspace, rank}][a.signal];
  }
}

void Shims::On(NodeId node, KillLocal& a) {
  const Options& options = settings_.options;
  if (options.ignore_kills) return;
  for (const Rank rank : Selected(node, a.nspace, a.ranks)) {
    const ProcId proc{a.nspace, rank};
    if (options.kill_delay == 0) {
      Exit(proc, kTerminated);
      continue;
    }
    const auto delay = static_cast<TimeNs>(
        random_.Below(static_cast<uint64_t>(options.kill_delay)));
    queue_.Post(queue_.now() + delay,
                Callback([this, node, boots = nodes_[node].boots, proc] {
                  if (nodes_[node].boots == boots) Exit(proc, kTerminated);
                }));
  }
}

void Shims::On(NodeId node, ForgetLocal& a) {
  if (!settings_.persists) {
    nodes_[node].shims.erase(a.nspace);
    return;
  }
  nodes_[node].shims.erase(a.nspace);
  for (const Rank rank : std::exchange(nodes_[node].running[a.nspace], {})) {
    if (settings_.hooks.on_exit) settings_.hooks.on_exit({a.nspace, rank});
  }
}

void Shims::On(NodeId node, CreditOutput& a) {
  const auto it = nodes_[node].shims.find(a.nspace);
  if (it == nodes_[node].shims.end()) return;
  Shim& shim = it->second;
  shim.credit =
      a.total != 0 ? std::max(shim.credit, a.total) : shim.credit + a.bytes;
  std::erase_if(shim.output, [&](const LocalOutput& output) {
    return output.end <= shim.credit;
  });
}

void Shims::On(NodeId node, ReadFacts& a) {
  FactsRead read;
  read.number = a.number;
  read.values.resize(a.keys.size());
  read.pids.assign(a.pids.begin(), a.pids.end());
  read.agent = node + 1;
  read.users.resize(a.users.size());
  inputs_.Post(node, std::move(read));
}

void Shims::On(NodeId node, PersistRecord& a) {
  if (!settings_.persists) return;
  std::vector<PersistedRecord>& journal = nodes_[node].shims[a.nspace].journal;
  const auto old = std::ranges::find(journal, a.key, &PersistedRecord::key);
  if (old != journal.end()) {
    if (old->value.view() == a.value.view()) return;
    journal.erase(old);
  }
  journal.push_back({a.key, a.value});
}

// -------------------------------------------------------------- processes ---

void Shims::Exit(const ProcId& proc, int wait_status) {
  const NodeId node = jobs_.NodeOf(proc);
  if (nodes_[node].running[proc.nspace].erase(proc.rank) == 0) return;
  on_end_(proc);
  ProcExit exit;
  exit.rank = proc.rank;
  exit.wait_status = wait_status;
  if (const auto shim = nodes_[node].shims.find(proc.nspace);
      shim != nodes_[node].shims.end()) {
    const auto restarted = shim->second.incarnations.find(proc.rank);
    if (restarted != shim->second.incarnations.end()) {
      exit.incarnation = restarted->second;
    }
  }
  if (settings_.persists) {
    nodes_[node].shims[proc.nspace].exits.push_back(exit);
  }
  TimeNs when = queue_.now();
  for (uint32_t line = 0; line < settings_.options.lines; ++line) {
    Write(proc, kOut, "line");
  }
  if (settings_.options.lines > 0 || settings_.options.closes_streams) {
    CloseStreams(node, proc);
    when += random_.Delay();
  }
  inputs_.PostAt(when, node, LocalExits{proc.nspace, {exit}});
  if (settings_.hooks.on_exit) settings_.hooks.on_exit(proc);
}

void Shims::Write(const ProcId& proc, uint16_t channel, std::string data) {
  const NodeId node = jobs_.NodeOf(proc);
  LocalOutput output{proc.nspace, proc.rank, channel, Bytes(std::move(data))};
  if (settings_.persists) {
    Shim& shim = nodes_[node].shims[proc.nspace];
    output.end = shim.output_end += output.data.size();
    shim.output.push_back(output);
  }
  inputs_.Post(node, std::move(output));
}

// A shim detects the end of a process and the ends of its streams in any order.
void Shims::CloseStreams(NodeId node, const ProcId& proc) {
  for (const uint16_t channel : {kOut, kErr}) {
    const TimeNs delay = random_.OneIn(2) ? 0 : random_.Delay();
    LocalOutput close{proc.nspace, proc.rank, channel, {}};
    if (settings_.persists) {
      Shim& shim = nodes_[node].shims[proc.nspace];
      close.end = shim.output_end;
      shim.closed.push_back(close);
    }
    inputs_.PostAt(queue_.now() + delay, node, std::move(close));
  }
}

bool Shims::IsRunning(const ProcId& proc) const {
  const Node& node = nodes_[jobs_.NodeOf(proc)];
  const auto it = node.running.find(proc.nspace);
  return it != node.running.end() && it->second.contains(proc.rank);
}

std::vector<ProcId> Shims::RunningOn(NodeId node) const {
  std::vector<ProcId> out;
  for (const auto& [nspace, ranks] : nodes_[node].running) {
    for (const Rank rank : ranks) out.push_back({nspace, rank});
  }
  return out;
}

uint32_t Shims::signals(const ProcId& proc) const {
  uint32_t count = 0;
  const auto it = signals_.find(proc);
  if (it == signals_.end()) return 0;
  for (const auto& [number, times] : it->second) count += times;
  return count;
}

uint32_t Shims::signals(const ProcId& proc, int number) const {
  const auto it = signals_.find(proc);
  if (it == signals_.end()) return 0;
  const auto of_number = it->second.find(number);
  return of_number == it->second.end() ? 0 : of_number->second;
}

// --------------------------------------------------------------- recovery ---

void Shims::Reset(NodeId node) {
  Node fresh;
  fresh.boots = nodes_[node].boots + 1;
  nodes_[node] = std::move(fresh);
}

std::vector<std::string> Shims::JobsOn(NodeId node) const {
  std::vector<std::string> out;
  for (const auto& [nspace, shim] : nodes_[node].shims) out.push_back(nspace);
  return out;
}

void Shims::AddRecovered(NodeId node, const std::string& nspace,
                         JobRecovered* out) const {
  const Shim& shim = nodes_[node].shims.at(nspace);
  out->started = shim.started;
  out->records = shim.journal;
  out->incarnations.assign(shim.incarnations.begin(), shim.incarnations.end());
}

void Shims::ReportAgain(NodeId node, const std::string& nspace) {
  const auto it = nodes_[node].shims.find(nspace);
  if (it == nodes_[node].shims.end()) return;
  const Shim& shim = it->second;
  for (const LocalOutput& output : shim.output) inputs_.Post(node, output);
  for (const LocalOutput& close : shim.closed) inputs_.Post(node, close);
  if (!shim.exits.empty()) inputs_.Post(node, LocalExits{nspace, shim.exits});
}

void Shims::AddLeftovers(NodeId node, std::vector<std::string>* out) const {
  for (const auto& [nspace, ranks] : nodes_[node].running) {
    if (!ranks.empty()) out->push_back("processes of " + nspace);
  }
  for (const auto& [nspace, shim] : nodes_[node].shims) {
    out->push_back("the shim of " + nspace);
  }
}

}  // namespace canopy::sim
