// The results of a group's construction: how they are made of what the nodes
// bring, and how a client gets them.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_

#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/group_record.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

// What this node brings: what its members asked for, and who of them is gone.
Bytes GroupContribution(const Series& series, const Instance& instance,
                        const JobTable& jobs);

// At the top: of all contributions, the sum. Participants whose node has not
// contributed are missing. Without the context id.
GroupRecord SumOf(const Series& series, const Instance& instance,
                  const JobTable& jobs);

// Of a group's end: which group it ends (GroupRecord::made), as its result
// says: an agent that was restarted may have the next one of that name already.
// 0: not known.
uint64_t MadeOf(const Instance& instance);

// Members of this node whose processes took part and ended, and were followed
// by others, which are in no group.
std::vector<ProcId> FollowedByOthers(const Series& series,
                                     const GroupRecord& result,
                                     const JobTable& jobs);

struct CollectiveAnswer {
  int status = 0;
  Bytes payload;  // codec form: SIZE n, n INFO; or empty
  // Of a group's construction: who is no member of it, ascending. Nodes that
  // were held for lost may have such participants that wait.
  std::vector<ProcId> missing = {};
};

// To those who wait for a collective that ended with `status` and, of a group's
// operation, `result`.
CollectiveAnswer AnswerOf(const CollectiveId& id, int status,
                          const Bytes& result, const JobTable& jobs);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RESULT_H_
