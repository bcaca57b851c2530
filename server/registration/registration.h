// Converts the description of a namespace that a resource manager passes to
// PMIx_server_register_nspace into a job for the rest of the server, and into
// the host's keys of each realm (PMIx Standard, chapters "Server-Specific
// Interfaces" and "Reserved Keys").
#ifndef CANOPY_SERVER_REGISTRATION_REGISTRATION_H_
#define CANOPY_SERVER_REGISTRATION_REGISTRATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "pmix_types.h"

namespace canopy::registration {

// Larger registrations are rejected before memory for them is allocated.
inline constexpr uint32_t kMaxProcs = 1 << 20;
inline constexpr uint32_t kMaxNodes = 1 << 18;
inline constexpr uint32_t kMaxApps = 1 << 16;
// The limit of nested arrays.
inline constexpr int kMaxDepth = 16;

// The keys of one level with their values in codec form, without duplicates, in
// the order of the call: the last value of a key is used. This is also the type
// of a segment's keys.
using Keys = std::vector<std::pair<std::string, std::string>>;

// The arguments of the call, and the server's information about itself. The
// caller keeps ownership, and everything is read only during the call.
struct Call {
  std::string nspace;
  int num_local_procs = 0;  // negative: only the data is registered
  std::span<const pmix_info_t> infos;
  // The names of this node, its host name first. A PMIX_HOSTNAME outside all
  // arrays is a further name.
  std::vector<std::string> node_names;
  // PMIX_NODEID of PMIx_server_init, if the host gave one.
  std::optional<uint32_t> node_id;
};

// A process as the host describes it, or else as the map implies.
struct Proc {
  RankNumbers numbers;
  Rank global_rank = 0;                  // PMIX_GLOBAL_RANK
  std::optional<uint16_t> package_rank;  // PMIX_PACKAGE_RANK
  uint32_t reincarnation = 0;
  // Values in codec form; empty if the host gives none.
  std::string cpuset;         // PMIX_CPUSET
  std::string cpuset_bitmap;  // PMIX_CPUSET_BITMAP
  std::string locality;       // PMIX_LOCALITY_STRING
  std::string procdir;        // PMIX_PROCDIR
  // The host's other keys of the process, except its node and application.
  Keys keys;
};

// A node that the host describes and that has no processes of the job.
struct OtherNode {
  std::string name;  // PMIX_HOSTNAME; may be empty
  std::vector<std::string> aliases;
  std::optional<uint32_t> id;  // PMIX_NODEID
  Keys keys;
};

// A registered namespace. `nodes`, `apps` and `procs` are indexed like those of
// JobSpec: by node, application and rank.
struct Registration {
  // PMIX_REGISTER_NODATA: the namespace takes part in operations without data.
  // All fields except `job.nspace` are empty.
  bool no_data = false;
  // The job as far as a host describes it, without environments or limits. Each
  // node's `agent` is its PMIX_NODEID if the host's numbers are unique, and its
  // index otherwise.
  JobSpec job;
  // The node of this server; kNoNode if no process of the job is on it.
  uint32_t self_node = kNoNode;
  // The host's keys, unchanged. They override the data derived from `job`. Keys
  // of sessions and of this node that are outside all arrays, or in the job's
  // array, are in `job_keys` as well.
  Keys session;
  Keys job_keys;
  std::vector<Keys> apps;
  std::vector<Keys> nodes;
  std::vector<Proc> procs;
  std::vector<OtherNode> other_nodes;
};

// Reads the arrays of the Standard (PMIX_SESSION_INFO_ARRAY and others, nested
// as hosts nest them), the older flat forms, and both forms of maps. An entry
// without a value (a null text, a null array) counts as absent; numbers of
// another type than the Standard's are accepted if they fit.
//
// The node of a process is determined, in this order, by PMIX_NODE_MAP with
// PMIX_PROC_MAP (or else PMIX_ANL_MAP), by PMIX_HOSTNAME of the process, by
// PMIX_LOCAL_PEERS of a node, and by PMIX_NODEID of the process; a job with
// only local processes needs none of these. A PMIX_NODEID of a process that
// contradicts the other entries is ignored, because some hosts state the number
// of this server's node for every process.
//
// Errors have one line that names the entry: kErrBadParam (missing,
// contradictory or malformed), kErrTypeMismatch (a value of another kind),
// kErrOutOfResource (beyond the limits), kErrNotSupported (a map in an unknown
// form, or compressed while zlib is not available). Thread-safe.
Result<Registration> ReadRegistration(const Call& call);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_REGISTRATION_H_
