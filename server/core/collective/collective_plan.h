// Computes the members of a collective, their nodes, and the part of the tree
// that it uses.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PLAN_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PLAN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/job_table.h"
#include "server/core/tree.h"

namespace canopy::core {

// Returns whether a participant names a process that its job does not have;
// unknown jobs are not checked. An empty namespace stands for `own_nspace`.
// Takes linear time.
bool NamesNobody(const std::vector<ProcId>& participants,
                 const std::string& own_nspace, const JobTable& jobs);

// Limits of the names in a list: the number of processes of jobs whose map this
// agent does not have, and the number of different jobs.
inline constexpr size_t kMaxUnknownNames = size_t{1} << 16;
inline constexpr size_t kMaxJobsInList = size_t{1} << 12;

// Checks, before the list is copied or sorted, that it may be a list of
// different processes. Returns kErrBadParam if it names a job much more often
// than the job has processes, kErrOutOfResource beyond the limits, otherwise
// kSuccess. Takes linear time.
int CheckCounts(const std::vector<ProcId>& participants,
                const std::string& own_nspace, const JobTable& jobs);

// Brings participants into the canonical form that identifies a collective:
// sorted, without duplicates. An empty list stands for the whole of
// `own_nspace`, and so does an empty namespace. Returns kErrBadParam for a rank
// that is neither a process nor the wildcard.
Status Canonicalise(const std::string& own_nspace,
                    std::vector<ProcId>* participants);

// Replaces the participants of a job that takes part as a whole by one
// wildcard, if the job's map is known. This is needed because calls of one
// group may mix lists and wildcards. Participants are canonical before and
// after.
void NameWholeJobs(const JobTable& jobs, std::vector<ProcId>* participants);

// The members of a collective. They depend on the job maps only, so they are
// computed once per list of participants.
struct CollectiveMembers {
  std::vector<NodeId> nodes;  // agents that host participants, ascending
  std::vector<ProcId> local;  // participants on this node, ascending

  // Returns the index in `local`, or -1.
  int LocalIndex(const ProcId& proc) const;
  bool HasNode(NodeId node) const;
};

// Returns the namespaces of canonical participants, without duplicates.
std::vector<std::string> NspacesOf(const std::vector<ProcId>& participants);

// Returns the first `limit` namespaces of canonical participants that are not
// in the table.
std::vector<std::string> UnknownNspaces(const std::vector<ProcId>& participants,
                                        const JobTable& jobs, size_t limit);

// Returns the members of a collective. All namespaces of the participants must
// be known. Returns kErrBadParam for a rank that its job does not have.
Result<CollectiveMembers> FindMembers(const std::vector<ProcId>& participants,
                                      const JobTable& jobs, NodeId self);

// Returns the participants for which `wanted(node, state)` holds, ascending.
// Participants of unknown namespaces are left out.
std::vector<ProcId> MembersWhere(
    const std::vector<ProcId>& participants, const JobTable& jobs,
    const std::function<bool(NodeId node, const RankState& state)>& wanted);

// Returns true unless all participants on the node are known to be gone. The
// time depends on the node's ranks and the number of jobs, not on the number of
// participants.
bool HasLivingOn(const std::vector<ProcId>& participants, const JobTable& jobs,
                 NodeId node);

// Returns an upper bound of the number of processes. Participants of unknown
// jobs are left out.
size_t CountMembers(const std::vector<ProcId>& participants,
                    const JobTable& jobs);

// Returns whether no rank of the participants' jobs is known to be gone.
bool NobodyIsGone(const std::vector<ProcId>& participants,
                  const JobTable& jobs);

// This agent's place in the tree of a collective, which is the overlay's tree
// cut at the lowest common ancestor of the living member nodes.
struct CollectiveTree {
  bool member = false;  // on the route between the top and a member node
  bool top = false;
  NodeId parent = kNoNode;       // next hop towards the top; none at the top
  std::vector<NodeId> children;  // next hops towards member nodes below
  std::vector<NodeId> below;     // living member nodes below, self included
};

// Returns the place of the agent `self` in the tree of a collective.
CollectiveTree FindPlace(const CollectiveMembers& members, const Tree& tree,
                         NodeId self);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PLAN_H_
