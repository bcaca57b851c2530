// What processes that reattach have counted of collectives that have ended for
// them: it is kept in Series::reattached until the members are known.
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

// By collective, as the process's own. It may have named the participants of
// one group in several ways; what names nobody, or no group, is left out.
std::map<CollectiveId, uint64_t> CountsOf(
    const std::vector<CollectiveCount>& counts, const ProcId& proc,
    const JobTable& jobs);

// The map of that job is here: where it takes part as a whole, a group's series
// has another name, and gets the counts.
void RenameCounts(const std::string& nspace, const JobTable& jobs,
                  SeriesTable* table);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_REATTACHED_COUNTS_H_
