#include "client/session/realm.h"

#include <array>
#include <cstddef>

#include "pmix.h"

namespace canopy::client {
namespace {

struct Row {
  std::string_view key;
  Realm realm = Realm::kUnknown;
};

// Keys that exist in several realms have the realm that a request without
// directives means.
constexpr Row kRows[] = {
    {PMIX_CLUSTER_ID, Realm::kSession},
    {PMIX_HOSTNAME_KEEP_FQDN, Realm::kSession},
    {PMIX_RM_NAME, Realm::kSession},
    {PMIX_RM_VERSION, Realm::kSession},
    {PMIX_SERVER_HOSTNAME, Realm::kSession},
    {PMIX_SESSION_ID, Realm::kSession},
    {PMIX_TDIR_RMCLEAN, Realm::kSession},
    {PMIX_TMPDIR, Realm::kSession},
    {PMIX_UNIV_SIZE, Realm::kSession},

    {PMIX_ALLOCATED_NODELIST, Realm::kJob},
    {PMIX_ANL_MAP, Realm::kJob},
    {PMIX_BINDTO, Realm::kJob},
    {PMIX_CMD_LINE, Realm::kJob},
    {PMIX_CPUS_PER_PROC, Realm::kJob},
    {PMIX_CPU_LIST, Realm::kJob},
    {PMIX_CRYPTO_KEY, Realm::kJob},
    {PMIX_JOBID, Realm::kJob},
    {PMIX_JOB_NUM_APPS, Realm::kJob},
    {PMIX_JOB_SIZE, Realm::kJob},
    {PMIX_MAPBY, Realm::kJob},
    {PMIX_MAX_PROCS, Realm::kJob},
    {PMIX_MAX_RESTARTS, Realm::kJob},
    {PMIX_NODE_LIST, Realm::kJob},
    {PMIX_NODE_MAP, Realm::kJob},
    {PMIX_NODE_MAP_RAW, Realm::kJob},
    {PMIX_NPROC_OFFSET, Realm::kJob},
    {PMIX_NSDIR, Realm::kJob},
    {PMIX_NUM_ALLOCATED_NODES, Realm::kJob},
    {PMIX_NUM_NODES, Realm::kJob},
    {PMIX_NUM_SLOTS, Realm::kJob},
    {PMIX_PROC_MAP, Realm::kJob},
    {PMIX_PROC_MAP_RAW, Realm::kJob},
    {PMIX_RANKBY, Realm::kJob},
    {PMIX_SERVER_NSPACE, Realm::kJob},
    {PMIX_SERVER_RANK, Realm::kJob},
    {PMIX_SERVER_URI, Realm::kJob},

    {PMIX_APPLDR, Realm::kApp},
    {PMIX_APP_ARGV, Realm::kApp},
    {PMIX_APP_MAP_REGEX, Realm::kApp},
    {PMIX_APP_MAP_TYPE, Realm::kApp},
    {PMIX_APP_SIZE, Realm::kApp},
    {PMIX_PSET_NAMES, Realm::kApp},
    {PMIX_WDIR, Realm::kApp},

    {PMIX_AVAIL_PHYS_MEMORY, Realm::kNode},
    {PMIX_HOSTNAME, Realm::kNode},
    {PMIX_HOSTNAME_ALIASES, Realm::kNode},
    {PMIX_NODEID, Realm::kNode},
    {PMIX_NODE_OVERSUBSCRIBED, Realm::kNode},
    {PMIX_NODE_SIZE, Realm::kNode},

    {PMIX_LOCALLDR, Realm::kLocalPart},
    {PMIX_LOCAL_CPUSETS, Realm::kLocalPart},
    {PMIX_LOCAL_PEERS, Realm::kLocalPart},
    {PMIX_LOCAL_PROCS, Realm::kLocalPart},
    {PMIX_LOCAL_SIZE, Realm::kLocalPart},

    {PMIX_APPNUM, Realm::kProc},
    {PMIX_APP_RANK, Realm::kProc},
    {PMIX_CPUSET, Realm::kProc},
    {PMIX_CPUSET_BITMAP, Realm::kProc},
    {PMIX_CREDENTIAL, Realm::kProc},
    {PMIX_EXIT_CODE, Realm::kProc},
    {PMIX_GLOBAL_RANK, Realm::kProc},
    {PMIX_LOCALITY_STRING, Realm::kProc},
    {PMIX_LOCAL_RANK, Realm::kProc},
    {PMIX_NODE_RANK, Realm::kProc},
    {PMIX_NSPACE, Realm::kProc},
    {PMIX_PACKAGE_RANK, Realm::kProc},
    {PMIX_PARENT_ID, Realm::kProc},
    {PMIX_PROCDIR, Realm::kProc},
    {PMIX_PROCID, Realm::kProc},
    {PMIX_PROC_PID, Realm::kProc},
    {PMIX_RANK, Realm::kProc},
    {PMIX_REINCARNATION, Realm::kProc},
    {PMIX_SPAWNED, Realm::kProc},
};

constexpr size_t kSlots = 256;

constexpr uint32_t Hash(std::string_view key) {
  uint32_t h = 2166136261u;
  for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h ^ (h >> 15);
}

constexpr std::array<Row, kSlots> MakeTable() {
  std::array<Row, kSlots> table{};
  for (const Row& row : kRows) {
    size_t at = Hash(row.key) % kSlots;
    while (!table[at].key.empty()) at = (at + 1) % kSlots;
    table[at] = row;
  }
  return table;
}

constexpr std::array<Row, kSlots> kTable = MakeTable();

}  // namespace

Realm DefaultRealm(std::string_view key) {
  size_t at = Hash(key) % kSlots;
  while (!kTable[at].key.empty()) {
    if (kTable[at].key == key) return kTable[at].realm;
    at = (at + 1) % kSlots;
  }
  return Realm::kUnknown;
}

}  // namespace canopy::client
