// The counts of ended collectives that processes report when they reattach.
// They are kept in Series::reattached until the members are known.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_REATTACHED_COUNTS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_REATTACHED_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/series_table.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Returns the counts of `proc` by collective. The process may have named the
// participants of one group in several ways. Counts that name no process or no
// group are left out.
std::map<CollectiveId, uint64_t> CountsOf(
    const std::vector<CollectiveCount>& counts, const ProcId& proc,
    const JobTable& jobs);

// Called when this agent has the map of the job. If the job takes part in a
// group as a whole, the group's series gets another identity, and the counts
// are moved to the series with that identity.
void RenameCounts(const std::string& nspace, const JobTable& jobs,
                  SeriesTable* table);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_REATTACHED_COUNTS_H_
