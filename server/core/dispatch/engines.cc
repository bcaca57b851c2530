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

}  // namespace

Engines::Engines(CoreConfig c)
    : config(std::move(c)),
      self(config.self),
      tree(static_cast<uint32_t>(config.node_names.size()), config.radix),
      jobs(self, &queue),
      modex(&queue),
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
      ends(config, jobs, collectives, events, invitations,
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
      forwarding(self, jobs, engine),
      table(ends, collectives, engine, gets, publishing, invitations, reports,
            queries, sets, owners, events, stops, maps, aborts, host,
            forwarding, spawns) {
  engine.set_tap(&forwarding);
  events.set_observer([this](const EventMessage& event) {
    if (sets.OnEvent(event)) {
      owners.OnDefined({now, out}, event.source.nspace);
    }
    invitations.OnEvent(event);
    const auto word = HoldWordIn(now, event);
    if (word) return jobs.holds().Note(now, word->first, word->second);
    stops.OnEvent(now, event);
  });
  if (config.host_is_root) tree.LetRootDecide();
  ForEach([&](Engine& part) {
    part.set_events(&queue);
    part.set_persists(config.persists);
    if (config.began_at != kNever) part.set_began(config.began_at);
  });
}

TimeNs Engines::NextDeadline() const {
  TimeNs next = kNever;
  ForEach(
      [&](const auto& part) { next = std::min(next, part.NextDeadline()); });
  return next;
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
    ForEach(
        [&](const Engine& part) { part.Describe(t, nspace, &answer.waiting); });
  }
  return answer;
}

ResourceCounts Engines::Count() const {
  ResourceCounts counts;
  counts.jobs = jobs.size();
  counts.clients = jobs.num_clients();
  counts.modex_jobs = modex.num_jobs();
  counts.modex_keys = modex.num_indexed();
  ForEach([&](const Engine& part) { part.Count(&counts); });
  return counts;
}

}  // namespace canopy::core
