// Finds a key of a job's data with the qualifiers of a query.
#ifndef CANOPY_SERVER_FACTS_JOB_DATA_H_
#define CANOPY_SERVER_FACTS_JOB_DATA_H_

#include <string>

#include "common/shm/segment_reader.h"
#include "server/core/step/facts.h"

namespace canopy::facts {

// Returns the VALUE of a key in codec form; an empty string if there is none,
// or if the qualifiers select a part that the job does not have. The value
// comes from the first of these that has the key: the application or node that
// the qualifiers name; the process; the job; the session; the process's
// application; its node, or this node if no process is named.
std::string FindJobData(const shm::SegmentReader& job,
                        const core::DataKey& key);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_JOB_DATA_H_
