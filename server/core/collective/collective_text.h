// Texts about collectives: log lines, and reports of blocked collectives.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_TEXT_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/why.h"

namespace canopy::core {

// Returns "fence", "connect", and so on.
const char* NameOf(CollectiveOp op);

// Returns a line that names the failure and the first missing processes.
std::string FailureText(const CollectiveId& id, uint64_t sequence,
                        const CompletedCollective& completed);

// Returns the processes for which agent `self` still waits: its own ranks, and
// the ranks of nodes below it (at the top: of all nodes) that have not
// contributed.
std::vector<MissingProc> MissingIn(const Series& series,
                                   const Instance& instance,
                                   const JobTable& jobs, NodeId self);

// Appends the pending collectives of the series.
void Describe(TimeNs now, const Series& series, const JobTable& jobs,
              NodeId self, std::vector<Waiting>* out);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_TEXT_H_
