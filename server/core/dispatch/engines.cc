#include "server/core/dispatch/engines.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace canopy::core {
namespace {

JobReport Report(const JobTable& jobs, const Job& job) {
  JobReport report;
  report.nspace = job.nspace();
  report.num_procs = job.num_ranks();
  for (const Rank rank : job.local_ranks()) {
    ++report.local_procs;
    report.local_ended += job.ranks[rank].ended ? 1 : 0;
    report.connected +=
        static_cast<uint32_t>(jobs.ClientsOf({job.nspace(), rank}).size());
  }
  return report;
}

void SetPersists(bool persists, Engines& e) {
  e.collectives.set_persists(persists);
  e.engine.set_persists(persists);
  e.events.set_persists(persists);
  e.publishing.set_persists(persists);
}

// Request numbers start at this time, so that they differ from a predecessor's.
void SetBegan(TimeNs when, Engines& e) {
  e.engine.set_began(when);
  e.gets.set_began(when);
  e.publishing.set_began(when);
  e.queries.set_began(when);
  e.host.set_began(when);
  e.owners.set_began(when);
}

}  // namespace

Engines::Engines(CoreConfig c)
    : config(std::move(c)),
      self(config.self),
      tree(static_cast<uint32_t>(config.node_names.size()), config.radix),
      jobs(self),
      collectives(self, tree, jobs, modex),
      gets(self, tree, jobs, modex),
      events(self, tree, jobs),
      maps(self, tree, jobs),
      reports(
          self, tree,
          [this](TimeNs t, const std::string& what, const std::string& nspace) {
            return Describe(t, what, nspace);
          }),
      engine(self, config.node_names, tree, jobs),
      aborts(self, jobs, engine),
      spawns(self, jobs, engine),
      invitations(jobs),
      stops(self, jobs,
            [this](const std::string& nspace) {
              return engine.ControllerOf(nspace);
            }),
      ends(self, jobs, collectives, events, invitations,
           [this](const std::string& nspace) {
             return engine.ControllerOf(nspace);
           }),
      publishing(self, tree, jobs),
      sets(jobs),
      owners(
          self, tree, jobs,
          [this](const std::string& nspace) { return engine.HasEnded(nspace); },
          sets),
      queries(self, config.node_names, tree, jobs, engine, sets),
      host(self, tree, jobs, engine, sets),
      forwarding(self, jobs, engine) {
  engine.set_tap(&forwarding);
  events.set_observer([this](const EventMessage& event) {
    if (sets.OnEvent(event)) {
      owners.OnDefined(now, event.source.nspace, &out);
    }
    invitations.OnEvent(event);
    const auto word = HoldWordIn(now, event);
    if (word) return jobs.holds().Note(now, word->first, word->second);
    stops.OnEvent(now, event);
  });
  if (config.host_is_root) tree.LetRootDecide();
  SetPersists(config.persists, *this);
  if (config.began_at != kNever) SetBegan(config.began_at, *this);
}

TimeNs Engines::NextDeadline() const {
  return std::min(
      {collectives.NextDeadline(), gets.NextDeadline(), maps.NextDeadline(),
       reports.NextDeadline(), aborts.NextDeadline(), engine.NextDeadline(),
       publishing.NextDeadline(), queries.NextDeadline(), host.NextDeadline(),
       invitations.NextDeadline(), forwarding.NextDeadline()});
}

StateAnswer Engines::Describe(TimeNs t, const std::string& what,
                              const std::string& nspace) const {
  StateAnswer answer;
  answer.node = self;
  answer.parent = tree.parent(self);
  answer.about = config.about;
  for (const auto& [name, job] : jobs.jobs()) {
    if (!nspace.empty() && nspace != name) continue;
    answer.jobs.push_back(Report(jobs, job));
  }
  if (what == "why") {
    collectives.Describe(t, nspace, &answer.waiting);
    gets.Describe(t, nspace, &answer.waiting);
    aborts.Describe(t, nspace, &answer.waiting);
    publishing.Describe(t, nspace, &answer.waiting);
    engine.Describe(t, nspace, &answer.waiting);
    spawns.Describe(t, nspace, &answer.waiting);
    queries.Describe(t, nspace, &answer.waiting);
    host.Describe(t, nspace, &answer.waiting);
    stops.local().Describe(t, nspace, &answer.waiting);
  }
  return answer;
}

ResourceCounts Engines::Count() const {
  ResourceCounts counts;
  counts.jobs = jobs.size();
  counts.launched = engine.num_jobs();
  counts.clients = jobs.num_clients();
  counts.collectives = collectives.num_series();
  counts.connections = collectives.num_connections();
  counts.groups = collectives.groups().size();
  counts.deadlines = collectives.num_deadlines() + invitations.num_waits();
  counts.gets = gets.num_held();
  counts.fetches = gets.num_fetches();
  counts.modex_jobs = modex.num_jobs();
  counts.modex_keys = modex.num_indexed();
  counts.map_requests = maps.num_requests();
  counts.aborts = aborts.size();
  counts.spawns = spawns.num_pending();
  counts.questions = reports.num_questions();
  counts.queries = queries.size();
  counts.host_calls = host.size();
  counts.forwarding = forwarding.size();
  counts.listeners = events.num_listeners();
  counts.process_sets = sets.sets().size();
  counts.publications = publishing.num_publications();
  counts.publishing = publishing.num_operations();
  return counts;
}

}  // namespace canopy::core
