// What a job's segment says before anybody has committed anything: every
// session-, job-, application-, node- and process-level key that follows from
// the job's map and from this node.
#ifndef CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
#define CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_writer.h"

namespace canopy::datastore {

// What the job's map does not tell about this agent and its node. Anything may
// be empty: then the keys that need it are not there.
struct NodeFacts {
  NodeId self = 0;  // this agent
  ProcId server;    // PMIX_SERVER_NSPACE, PMIX_SERVER_RANK
  std::string cluster_id;
  std::string rm_name = "canopy";
  std::string rm_version;
  // PMIX_TMPDIR; each job gets a directory below it, each local rank one below
  // that.
  std::string tmpdir;
  uint64_t available_memory = 0;   // bytes
  std::string topology_signature;  // PMIX_TOPOLOGY_SIGNATURE
  // PMIX_LOCALITY_STRING of a process bound to a cpuset (hwloc list format;
  // empty: not bound).
  std::function<std::string(const std::string& cpuset)> locality;
  // Number of the package that holds the cpuset; nothing when several do.
  std::function<std::optional<uint32_t>(const std::string& cpuset)> package;
};

// PMIX_NSDIR and PMIX_PROCDIR; empty when there is no tmpdir.
std::string JobDirectory(const NodeFacts& facts, const std::string& nspace);
std::string ProcDirectory(const NodeFacts& facts, const std::string& nspace,
                          Rank rank);

shm::SegmentContents MakeContents(const JobSpec& job, const JobLayout& layout,
                                  const NodeFacts& facts);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_JOB_CONTENTS_H_
