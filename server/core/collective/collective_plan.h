// Who takes part in a collective, where, and which part of the tree it uses.
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

// One of them names a process that its job, which is known, does not have. An
// empty namespace is `own_nspace`. Linear in their number.
bool NamesNobody(const std::vector<ProcId>& participants,
                 const std::string& own_nspace, const JobTable& jobs);

// Brings participants into the form that identifies a collective: sorted,
// without duplicates; none at all means the whole of `own_nspace`, and so does
// an empty namespace in one of them. kErrBadParam for a rank that names
// neither a process nor all of them.
Status Canonicalise(const std::string& own_nspace,
                    std::vector<ProcId>* participants);

// Names each job that takes part as a whole by a wildcard alone, where its map
// is known: lists and wildcards may be mixed in the calls of one group.
// Participants are canonical, before and after.
void NameWholeJobs(const JobTable& jobs, std::vector<ProcId>* participants);

// The members of a collective. It depends on the job maps only, so it is made
// once per set of participants.
struct CollectiveMembers {
  std::vector<NodeId> nodes;  // agents that host participants, ascending
  std::vector<ProcId> local;  // participants on this node, ascending

  // Index in `local`, or -1.
  int LocalIndex(const ProcId& proc) const;
  bool HasNode(NodeId node) const;
};

// The namespaces of canonical participants, each once.
std::vector<std::string> NspacesOf(const std::vector<ProcId>& participants);

// The first `limit` namespaces of canonical participants that the table does
// not know.
std::vector<std::string> UnknownNspaces(const std::vector<ProcId>& participants,
                                        const JobTable& jobs, size_t limit);

// All namespaces must be known. kErrBadParam for a rank that its job does not
// have.
Result<CollectiveMembers> FindMembers(const std::vector<ProcId>& participants,
                                      const JobTable& jobs, NodeId self);

// Participants for which `wanted(node, state)` holds, ascending; all their
// namespaces must be known, those that are not are left out.
std::vector<ProcId> MembersWhere(
    const std::vector<ProcId>& participants, const JobTable& jobs,
    const std::function<bool(NodeId node, const RankState& state)>& wanted);

// Whether a participant on that node is not known to be gone. Takes as long as
// the node has ranks, not participants, but for jobs.
bool HasLivingOn(const std::vector<ProcId>& participants, const JobTable& jobs,
                 NodeId node);

// How many processes they are, at most; those of jobs that are not known are
// left out.
size_t CountMembers(const std::vector<ProcId>& participants,
                    const JobTable& jobs);

// No participant's job has a rank that is known to be gone.
bool NobodyIsGone(const std::vector<ProcId>& participants,
                  const JobTable& jobs);

// This agent's place in the tree of a collective, which is the overlay's tree
// cut at the lowest common ancestor of the living member nodes.
struct CollectiveTree {
  bool member = false;  // on the way between the top and some member node
  bool top = false;
  NodeId parent = kNoNode;       // next hop towards the top; none at the top
  std::vector<NodeId> children;  // next hops towards member nodes below
  std::vector<NodeId> below;     // living member nodes below, self included
};

CollectiveTree FindPlace(const CollectiveMembers& members, const Tree& tree,
                         NodeId self);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PLAN_H_
