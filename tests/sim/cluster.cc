#include "tests/sim/cluster.h"

#include <utility>

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

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
  add("groups", c.groups);
  add("deadlines", c.deadlines);
  add("gets", c.gets);
  add("fetches", c.fetches);
  add("modex", c.modex_jobs);
  add("modex keys", c.modex_keys);
  add("map requests", c.map_requests);
  add("aborts", c.aborts);
  add("host calls", c.host_calls);
  add("spawns", c.spawns);
  add("process sets", c.process_sets);
  add("questions", c.questions);
  add("queries", c.queries);
  add("forwarding", c.forwarding);
  add("listeners", c.listeners);
  add("publications", c.publications);
  add("publishing", c.publishing);
  return out + "left";
}

}  // namespace

Cluster::Cluster(uint32_t nodes, uint32_t radix, uint64_t seed,
                 Persistence persistence)
    : settings_{persistence == Persistence::kOn},
      random_(seed, settings_.options),
      oracle_([this](const std::string& error) { errors_.push_back(error); }),
      members_(nodes, radix, queue_, random_),
      network_(settings_.options, members_, queue_, random_),
      inputs_(queue_, members_),
      segments_(nodes, oracle_, errors_),
      shims_(nodes, settings_, jobs_, queue_, inputs_, random_, errors_,
             [this](const ProcId& proc) { clients_.OnExit(proc); }),
      launchers_(nodes, settings_, jobs_, inputs_),
      clients_(settings_, jobs_, inputs_, oracle_, errors_),
      input_(nodes, settings_, jobs_, queue_, inputs_, random_, oracle_),
      spawn_host_(jobs_, members_, inputs_, oracle_, input_, launchers_,
                  errors_),
      host_(settings_, queue_, members_, inputs_, random_, errors_),
      agents_(radix, settings_, queue_, members_, network_, oracle_, errors_,
              std::tie(segments_, shims_, launchers_, spawn_host_, host_,
                       clients_, input_, observed_)) {
  if (settings_.persists) oracle_.set_restarts();
}

// ------------------------------------------------------------------- jobs ---

void Cluster::BeginLaunch(const JobSpec& job) {
  jobs_.Add(job);
  oracle_.OnJob(job);
  input_.Open(job.nspace, members_.leader());
  launchers_.Launch(members_.leader(), job);
}

void Cluster::Launch(const JobSpec& job) {
  BeginLaunch(job);
  Run();
}

void Cluster::LaunchConnected(const JobSpec& job) {
  Launch(job);
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    clients_.Connect({job.nspace, rank});
  }
  Run();
}

void Cluster::Leave(const ProcId& proc) {
  clients_.Finalize(proc);
  shims_.Exit(proc, 0);
}

std::vector<std::string> Cluster::Leftovers() const {
  std::vector<std::string> out;
  for (NodeId node = 0; node < members_.size(); ++node) {
    if (!members_.alive(node)) continue;
    std::vector<std::string> here;
    segments_.AddLeftovers(node, &here);
    shims_.AddLeftovers(node, &here);
    const ResourceCounts counts = agents_.Count(node);
    if (counts != ResourceCounts()) here.push_back(Describe(counts));
    for (const std::string& what : here) {
      out.push_back(what + " on node " + std::to_string(node));
    }
  }
  return out;
}

// ------------------------------------------------------------------- time ---

bool Cluster::RunOne() {
  std::optional<Event> event = queue_.Take();
  if (!event) return false;
  agents_.Deliver(std::move(*event));
  return true;
}

bool Cluster::RunNext(TimeNs end) {
  std::optional<Event> event = queue_.TakeUntil(end);
  if (!event) return false;
  agents_.Deliver(std::move(*event));
  return true;
}

void Cluster::Run() {
  while (RunOne()) {
  }
}

void Cluster::RunFor(TimeNs duration) {
  const TimeNs end = now() + duration;
  while (RunNext(end)) {
  }
  queue_.AdvanceTo(end);
}

}  // namespace canopy::sim
