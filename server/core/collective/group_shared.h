// The data that the members of a group share under PMIX_GROUP_INFO: arrays of
// INFO. Each array begins with PMIX_PROCID, which names the member that shares
// the other elements (PMIx Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_SHARED_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_SHARED_H_

#include <functional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/core/collective/group_record.h"
#include "server/core/job_table.h"
#include "server/core/modex/modex.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Returns an INFO that `member` shares, in codec form, as its agent passes it
// on. In an array of INFO under PMIX_GROUP_INFO, the member's name is put first
// and replaces any name that the member has written there. Other infos stay
// unchanged.
std::string SharedBy(const ProcId& member, std::string_view info);
// Returns a key and its VALUE as an array of PMIX_GROUP_INFO that `member`
// shares.
std::string SharedBy(const ProcId& member, std::string_view key,
                     std::string_view value);

// Removes the arrays of members for which `may_share` returns false.
void KeepShared(const std::function<bool(const ProcId&)>& may_share,
                GroupRecord* record);

// Stores the shared data on this node, as data of the members with the
// qualifier PMIX_GROUP_CONTEXT_ID. Other nodes can fetch the data of local
// ranks. Does nothing for a group without a context id, because the values of
// several groups could not be distinguished. With `persists`, the data of local
// ranks is recorded for a successor of this agent.
void PublishShared(const StepContext& step, const GroupRecord& result,
                   const JobTable& jobs, bool persists, ModexStore* modex);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_SHARED_H_
