// The session of a job: what its processes find in the Standard's session
// realm. The session is the overlay; its node array is the overlay's members,
// and its ranks are the global ranks of all jobs.
#ifndef CANOPY_SERVER_DATASTORE_SESSION_CONTENTS_H_
#define CANOPY_SERVER_DATASTORE_SESSION_CONTENTS_H_

#include <map>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_writer.h"
#include "server/datastore/keys.h"
#include "server/datastore/node_facts.h"

namespace canopy::datastore {

// Keys of the session that are looked for among the job's as well.
void AddSessionKeys(const JobSpec& job, const NodeFacts& facts, Keys* keys);

// All keys of the session. Which nodes have processes is as it was when the job
// was mapped: its own and those of JobSpec::others.
shm::KeyValues SessionContents(const JobSpec& job, const NodeFacts& facts);

// Processes of the session's other jobs, by agent.
std::map<NodeId, std::vector<ProcId>> OtherProcs(const JobSpec& job);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_SESSION_CONTENTS_H_
