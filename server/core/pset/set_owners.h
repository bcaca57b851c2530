// The end of jobs that process sets are of, at agents that do not know these
// jobs.
#ifndef CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_
#define CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/pset/process_sets.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// An agent without the job is told of the end of its sets by an event. When
// that may have been lost, or sets come from a neighbour's cache after it, the
// agent asks whether the job is over (JobQuery): the agent that has made the
// set known, else the root; and the answer comes when it is. Not synchronised.
class SetOwners {
 public:
  using HasEnded = std::function<bool(const std::string& nspace)>;

  // All outlive it. `has_ended`: this agent knows that the job is over.
  SetOwners(NodeId self, const Tree& tree, const JobTable& jobs,
            HasEnded has_ended, ProcessSets& sets);

  // This agent was started at that time, and others may have sets.
  void set_began(TimeNs when);
  // The tree has changed, as the caller has noted there: what was on its way
  // may be lost.
  void OnTreeChanged(TimeNs now, Actions* actions);
  // The same of what was on its way to or through that agent.
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // A set of that job has become known.
  void OnDefined(TimeNs now, const std::string& nspace, Actions* actions);
  // An agent says that the job is over; heeded if it is the one that was asked.
  void OnOver(NodeId src, const std::string& nspace);
  void OnJobRemoved(const std::string& nspace) { asked_.erase(nspace); }
  // What this agent does not know does not exist: it is the root, and has heard
  // from all.
  void OnAuthoritative();

  // Jobs whose sets were dropped since the last call.
  std::vector<std::string> TakeDropped();
  // Neither OnAuthoritative nor TakeDropped has anything to do.
  bool is_idle() const { return asked_.empty() && dropped_.empty(); }

 private:
  // Those of sets that this agent does not know.
  std::set<std::string> Unknown() const;
  // kNoNode: nobody.
  NodeId WhoKnows(const std::string& nspace) const;
  void Ask(const std::string& nspace, Actions* actions);
  void Drop(const std::string& nspace);

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  const HasEnded has_ended_;
  ProcessSets& sets_;
  std::map<std::string, NodeId> asked_;  // by job; kNoNode: nobody
  TimeNs settled_ = 0;  // until then sets may come that have ended
  std::vector<std::string> dropped_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_SET_OWNERS_H_
