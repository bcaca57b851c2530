// The initial content of a job's segment: every session-, job-, application-,
// node- and process-level key that follows from the job's map and from this
// node.
#ifndef CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
#define CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_

#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_writer.h"
#include "server/datastore/node_facts.h"

namespace canopy::datastore {

// Returns the name of a job's directory in tmpdir: a single path component for
// any namespace.
std::string JobDirectoryName(const std::string& nspace);
// Return PMIX_NSDIR and PMIX_PROCDIR; an empty text if there is no tmpdir.
std::string JobDirectory(const NodeFacts& facts, const std::string& nspace);
std::string ProcDirectory(const NodeFacts& facts, const std::string& nspace,
                          Rank rank);

// Returns the initial content. `layout` must be that of `job`; `facts` describe
// this node.
shm::SegmentContents MakeContents(const JobSpec& job, const JobLayout& layout,
                                  const NodeFacts& facts);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
