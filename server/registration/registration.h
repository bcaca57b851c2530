// What a resource manager tells of a namespace with
// PMIx_server_register_nspace, as a job that the rest of the server knows and
// as the keys that the host has given for each realm (PMIx Standard, chapters
// "Server-Specific Interfaces" and "Reserved Keys").
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

// What is larger is refused, before anything of that size is allocated.
inline constexpr uint32_t kMaxProcs = 1 << 20;
inline constexpr uint32_t kMaxNodes = 1 << 18;
inline constexpr uint32_t kMaxApps = 1 << 16;
// Arrays in arrays.
inline constexpr int kMaxDepth = 16;

// Keys of one level with their VALUEs in codec form, each once, in the order of
// the call: the last value given for a key is the one that counts. The same
// type as a segment's.
using Keys = std::vector<std::pair<std::string, std::string>>;

// The arguments of the call and what the server knows of itself. Everything
// stays the caller's and is read during the call only.
struct Call {
  std::string nspace;
  int num_local_procs = 0;  // negative: only the data is wanted
  std::span<const pmix_info_t> infos;
  // What this node is called: its host name first. The host's PMIX_HOSTNAME
  // outside of all arrays is one more.
  std::vector<std::string> node_names;
  // PMIX_NODEID of PMIx_server_init, if the host gave one.
  std::optional<uint32_t> node_id;
};

// A process as the host describes it, or else as it follows from the map.
struct Proc {
  RankNumbers numbers;
  Rank global_rank = 0;                  // PMIX_GLOBAL_RANK
  std::optional<uint16_t> package_rank;  // PMIX_PACKAGE_RANK
  uint32_t reincarnation = 0;
  // VALUEs; empty where the host gives none.
  std::string cpuset;         // PMIX_CPUSET
  std::string cpuset_bitmap;  // PMIX_CPUSET_BITMAP
  std::string locality;       // PMIX_LOCALITY_STRING
  std::string procdir;        // PMIX_PROCDIR
  // All that the host gives besides, and besides the process's node and
  // application.
  Keys keys;
};

// A node that the host describes and on which the job has no processes.
struct OtherNode {
  std::string name;  // PMIX_HOSTNAME; may be empty
  std::vector<std::string> aliases;
  std::optional<uint32_t> id;  // PMIX_NODEID
  Keys keys;
};

// A registered namespace. Vectors have the indices of JobSpec's: a node's, an
// application's number, a rank.
struct Registration {
  // PMIX_REGISTER_NODATA: the namespace takes part in operations, and there is
  // no data of it. Everything else is empty but for `job.nspace`.
  bool no_data = false;
  // As much of it as a host tells: nothing of environments or limits. Each
  // node's `agent` is its PMIX_NODEID: what the host gives, where that tells
  // the nodes apart, and their indices otherwise.
  JobSpec job;
  // The node of this server; kNoNode when no process of the job is here.
  uint32_t self_node = kNoNode;
  // What the host gives, as it gives it. These win over what is derived from
  // `job`. Keys of sessions and of this node that stand outside of all arrays,
  // or in the job's, are in `job_keys` as well.
  Keys session;
  Keys job_keys;
  std::vector<Keys> apps;
  std::vector<Keys> nodes;
  std::vector<Proc> procs;
  std::vector<OtherNode> other_nodes;
};

// Reads the arrays of the Standard (PMIX_SESSION_INFO_ARRAY and so on, nested
// in one another as hosts do), the flat forms that came before them, and both
// forms of maps. An entry without a value (a null text, a null array) is
// absent; numbers of another type than the Standard's count when they fit.
//
// Where a process runs is told, in this order, by PMIX_NODE_MAP with
// PMIX_PROC_MAP (or else PMIX_ANL_MAP), by PMIX_HOSTNAME of the process, by
// PMIX_LOCAL_PEERS of a node, by PMIX_NODEID of the process; a job of local
// processes alone needs none of them. PMIX_NODEID that contradicts the others
// is not believed: hosts give their own for every process.
//
// Errors, in one line that names the entry: kErrBadParam (missing,
// contradictory or malformed), kErrTypeMismatch (a value of another kind),
// kErrOutOfResource (beyond the limits), kErrNotSupported (a map in a form that
// is not known, or compressed and without zlib). Any thread.
Result<Registration> ReadRegistration(const Call& call);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_REGISTRATION_H_
