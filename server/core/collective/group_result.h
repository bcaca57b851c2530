// The results of a group's construct: computes them from the contributions of
// the nodes, and encodes them for clients.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/group_record.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

// Returns the contribution of this node: the requests of its members, the
// members that are gone, and the `committed` data (GroupRecord::committed).
Bytes GroupContribution(const Series& series, const Instance& instance,
                        const JobTable& jobs, std::string committed);

// Returns whether the members of the group share more data than is allowed.
bool SharesTooMuch(const Instance& instance);

// Returns the sum of all contributions, without the context id; called at the
// top. Participants whose node has not contributed count as missing.
GroupRecord SumOf(const Series& series, const Instance& instance,
                  const JobTable& jobs);

// Returns the number (GroupRecord::made) of the group that a destruct ends,
// from the destruct's result; 0 if unknown. An agent that was restarted may
// already have the next group of that name.
uint64_t MadeOf(const Instance& instance);

// Returns the members of this node whose process took part, ended, and was
// replaced by a new process, which is in no group.
std::vector<ProcId> FollowedByOthers(const Series& series,
                                     const GroupRecord& result,
                                     const JobTable& jobs);

struct CollectiveAnswer {
  int status = 0;
  Bytes payload;  // codec form: SIZE n, n INFO; or empty
  // For a group's construct: participants that are not members, ascending. Such
  // participants may be waiting on a node that was taken for lost.
  std::vector<ProcId> missing = {};
};

// Returns the reply to processes that wait for a collective that ended with
// `status` and, for a group operation, with `result`.
CollectiveAnswer AnswerOf(const CollectiveId& id, int status,
                          const Bytes& result, const JobTable& jobs);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_
