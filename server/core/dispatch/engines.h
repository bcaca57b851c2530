// The engines of an agent's core and what they share, wired. Which input goes
// to which of them is in dispatch.h; how they learn of each other's changes in
// propagation.h.
#ifndef CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_
#define CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_

#include <string>

#include "common/host_op.h"
#include "common/ids.h"
#include "server/core/abort/aborts.h"
#include "server/core/collective/collective.h"
#include "server/core/core_config.h"
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
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Parts without a rule that holds among them: whoever has this calls any of
// them, with `now` and `out`. An engine knows those that its constructor is
// given. Not synchronised.
struct Engines {
  explicit Engines(CoreConfig config);
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  // The earliest time at which one of them wants a Tick; kNever: none.
  TimeNs NextDeadline() const;
  // What they hold.
  ResourceCounts Count() const;
  // What is known here of that job, or of all when it is empty; with `what`
  // "why" also who waits for what (why.h). `t`: the time, for ages.
  StateAnswer Describe(TimeNs t, const std::string& what,
                       const std::string& nspace) const;
  // A host in whose process this is forwards what its own processes write.
  bool Forwards(HostOp op) const {
    return (op == HostOp::kReadOutput || op == HostOp::kPushInput) &&
           !config.host_is_root;
  }

  const CoreConfig config;
  const NodeId self;
  // What several engines read.
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

  // Of the step that runs.
  TimeNs now = 0;
  Actions out;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_
