// What a job's segment says before anybody has committed anything: every
// session-, job-, application-, node- and process-level key that follows from
// the job's map and from this node.
#ifndef CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
#define CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_

#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_writer.h"
#include "server/datastore/node_facts.h"

namespace canopy::datastore {

// The name of a job's directory in tmpdir: one name, whatever the namespace is.
std::string JobDirectoryName(const std::string& nspace);
// PMIX_NSDIR and PMIX_PROCDIR; empty when there is no tmpdir.
std::string JobDirectory(const NodeFacts& facts, const std::string& nspace);
std::string ProcDirectory(const NodeFacts& facts, const std::string& nspace,
                          Rank rank);

shm::SegmentContents MakeContents(const JobSpec& job, const JobLayout& layout,
                                  const NodeFacts& facts);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
