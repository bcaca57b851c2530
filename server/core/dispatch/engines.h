// The engines of an agent's core and their shared state. dispatch.h decides
// which engines get an input; propagation.h notifies engines of each other's
// changes.
#ifndef CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_
#define CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_

#include <string>
#include <tuple>

#include "common/host_op.h"
#include "common/ids.h"
#include "server/core/abort/aborts.h"
#include "server/core/collective/collective.h"
#include "server/core/core_config.h"
#include "server/core/engine.h"
#include "server/core/event/debug_stops.h"
#include "server/core/event/end_events.h"
#include "server/core/event/events.h"
#include "server/core/event/invitations.h"
#include "server/core/host/host_calls.h"
#include "server/core/iof/forwarding.h"
#include "server/core/job/engine.h"
#include "server/core/job/maps.h"
#include "server/core/job_table.h"
#include "server/core/modex/gets.h"
#include "server/core/modex/modex.h"
#include "server/core/pset/process_sets.h"
#include "server/core/pset/set_owners.h"
#include "server/core/publish/publishing.h"
#include "server/core/query/queries.h"
#include "server/core/resource_counts.h"
#include "server/core/spawn/spawns.h"
#include "server/core/state_reports.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// The struct enforces no rule among its parts: code that has an Engines may
// call any of its parts, with `now` and `out`. An engine has references only to
// the parts that are passed to its constructor. Not synchronised.
//
// `table` has every engine, in the order in which engines are notified of a
// change and report. The order matters in these places; elsewhere the engines
// are grouped by subject:
//
//   EndEvents    first: its events name the processes, connections and groups
//                that the loss of a node ends. The other engines drop these
//                afterwards.
//   Collectives  before JobEngine: when a node returns or was restarted, the
//                collectives that have completed are reported to it before the
//                processes that have left since. In the other order it would
//                seem as if the processes had left before the completion.
//   JobEngine    before all that keep requests about jobs: the loss of a node
//                ends jobs, and these requests must be answered by the end of
//                their job, not by the loss.
//   ProcessSets, SetOwners, Events
//                before JobMaps: agents that have borrowed the map of a job are
//                notified last of that job's end.
//   Aborts, HostCalls, Forwarding, Spawns
//                last: they send their requests again to the agents that now
//                control the jobs. JobEngine has notified these agents of the
//                jobs before.
struct Engines {
  explicit Engines(CoreConfig config);
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  // Calls `notify` for each engine, in the order of the table. If the parameter
  // of `notify` is `auto&` in place of `Engine&`, the calls are direct, and
  // engines that do not override a function cost nothing. Use `auto&` for
  // frequent notifications.
  template <typename Notify>
  void ForEach(const Notify& notify) const {
    std::apply([&](auto&... engine) { (notify(engine), ...); }, table);
  }

  // Returns the earliest time at which an engine needs a Tick; kNever if none
  // does.
  TimeNs NextDeadline() const;
  // Returns how much the engines hold, by kind.
  ResourceCounts Count() const;
  // Returns what this agent knows of the state of the job, or of all jobs if
  // `nspace` is empty. Adds the waiting operations (why.h) if `what` is "why".
  // `t` is the current time, for ages.
  StateAnswer Describe(TimeNs t, const std::string& what,
                       const std::string& nspace) const;
  // Returns whether this operation is handled by the core's Forwarding and not
  // by the host. A host that contains the root forwards the output and input of
  // its own processes itself.
  bool Forwards(HostOp op) const {
    return (op == HostOp::kReadOutput || op == HostOp::kPushInput) &&
           !config.host_is_root;
  }

  // Returns the step in progress, for the engines.
  StepContext step() { return {now, out, &queue}; }

  CoreConfig config;  // only the list of nodes changes, and only grows
  const NodeId self;
  // Events that were posted and are not handled yet.
  CoreEvents queue;
  // State that several engines read.
  Tree tree;
  JobTable jobs;
  ModexStore modex;

  Collectives collectives;
  Gets gets;
  Events events;
  JobMaps maps;
  StateReports reports;
  JobEngine engine;
  Aborts aborts;
  Spawns spawns;
  Invitations invitations;
  DebugStops stops;
  EndEvents ends;
  Publishing publishing;
  ProcessSets sets;
  SetOwners owners;
  Queries queries;
  HostCalls host;
  Forwarding forwarding;

  const std::tuple<EndEvents&, Collectives&, JobEngine&, Gets&, Publishing&,
                   Invitations&, StateReports&, Queries&, ProcessSets&,
                   SetOwners&, Events&, DebugStops&, JobMaps&, Aborts&,
                   HostCalls&, Forwarding&, Spawns&>
      table;

  // The time and the actions of the step in progress.
  TimeNs now = 0;
  Actions out;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_
