// Detects the end of jobs that own process sets, at agents that do not know
// these jobs.
#ifndef CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_
#define CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/pset/process_sets.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// An agent that does not know a job learns of the end of the job's sets from an
// event. That event may be lost, or sets may arrive from a neighbour's cache
// after it. In both cases the agent sends a JobQuery, to the agent that has
// announced the set if that agent lives, otherwise to the root. The answer
// comes when the job is over. Not synchronised.
class SetOwners final : public Engine {
 public:
  using HasEnded = std::function<bool(const std::string& nspace)>;

  // All references outlive this object. `has_ended` returns whether this agent
  // knows that the job is over.
  SetOwners(NodeId self, const Tree& tree, const JobTable& jobs,
            HasEnded has_ended, ProcessSets& sets);

  // Records that this agent was started at `when`, while other agents may have
  // sets.
  void set_began(TimeNs when) override;
  // Called after the caller has updated the tree. Messages in flight may be
  // lost.
  void OnTreeChanged(const StepContext& step) override;
  // Called when the node has a new agent. Messages in flight to the node or
  // through it may be lost.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  // Called when a set of the job has become known.
  void OnDefined(const StepContext& step, const std::string& nspace);
  // Handles an agent's report that the job is over; ignores it unless the query
  // was sent to that agent.
  void OnOver(NodeId src, const std::string& nspace);
  void OnJobRemoved(const StepContext& /*step*/,
                    const RemovedJob& job) override {
    asked_.erase(job.nspace);
  }
  // Called when this agent is the root and has completed its resynchronisation.
  // Jobs that it does not know then do not exist.
  void OnAuthoritative();

  // Returns whether OnAuthoritative has nothing to do.
  bool is_idle() const { return asked_.empty(); }

 private:
  // Returns the jobs that own sets and that are unknown to this agent.
  std::set<std::string> Unknown() const;
  // Returns the agent to query; kNoNode if there is none.
  NodeId WhoKnows(const std::string& nspace) const;
  void Ask(const StepContext& step, const std::string& nspace);
  void Drop(const std::string& nspace);

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  const HasEnded has_ended_;
  ProcessSets& sets_;
  std::map<std::string, NodeId> asked_;  // by job; kNoNode: no agent
  // Until this time, the sets of a job that is over may still arrive from other
  // agents.
  TimeNs settled_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_
