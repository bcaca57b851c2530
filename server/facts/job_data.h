// A key of a job's data, as a query qualifies it.
#ifndef CANOPY_SERVER_FACTS_JOB_DATA_H_
#define CANOPY_SERVER_FACTS_JOB_DATA_H_

#include <string>

#include "common/shm/segment_reader.h"
#include "server/core/step/facts.h"

namespace canopy::facts {

// The VALUE in codec form; empty when there is none, or the key names a part
// that the job does not have. Of the key's own realm, the first that has it:
// the application or node that is named; the process; the job; the session; the
// process's application; its node, or this one for no process.
std::string FindJobData(const shm::SegmentReader& job,
                        const core::DataKey& key);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_JOB_DATA_H_
