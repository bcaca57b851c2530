// The session of a job: the content of the Standard's session realm. The
// session is the overlay; its node array is the overlay's members, and its
// ranks are the global ranks of all jobs.
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

// Adds the keys of the session for which programs also look among the job's
// keys.
void AddSessionKeys(const JobSpec& job, const NodeFacts& facts, Keys* keys);

// Returns all keys of the session. The nodes with processes are those at the
// time when the job was mapped: the nodes of the job itself and of
// JobSpec::others.
shm::KeyValues SessionContents(const JobSpec& job, const NodeFacts& facts);

// Returns the processes of the session's other jobs, by agent.
std::map<NodeId, std::vector<ProcId>> OtherProcs(const JobSpec& job);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_SESSION_CONTENTS_H_
