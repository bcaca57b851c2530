// The engines of an agent's core and their shared state. dispatch.h decides
// which engines get an input; propagation.h notifies engines of each other's
// changes.
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

// The struct enforces no rule among its parts: code that has it may call any of
// them, with `now` and `out`. An engine has references only to the parts that
// are passed to its constructor. Not synchronised.
struct Engines {
  explicit Engines(CoreConfig config);
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  // Returns the earliest time at which an engine needs a Tick; kNever if none
  // does.
  TimeNs NextDeadline() const;
  // Returns how much the engines hold, by kind.
  ResourceCounts Count() const;
  // Returns what is known here of the job, or of all jobs if `nspace` is empty.
  // If `what` is "why", also the waiting operations (why.h). `t` is the current
  // time, for ages.
  StateAnswer Describe(TimeNs t, const std::string& what,
                       const std::string& nspace) const;
  // Returns whether this operation is handled by the core's Forwarding and not
  // by the host. A host that contains the root forwards the output and input of
  // its own processes itself.
  bool Forwards(HostOp op) const {
    return (op == HostOp::kReadOutput || op == HostOp::kPushInput) &&
           !config.host_is_root;
  }

  const CoreConfig config;
  const NodeId self;
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

  // The time and the actions of the step in progress.
  TimeNs now = 0;
  Actions out;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_ENGINES_H_
