#include "server/core/query/query_keys.h"

#include <algorithm>

#include "pmix_common.h"

namespace canopy::core {
namespace {

using enum KeyKind;

constexpr char kOfNamespace[] = PMIX_NSPACE;
constexpr char kOfProcess[] =
    PMIX_PROCID "," PMIX_NSPACE "," PMIX_RANK "," PMIX_TIMEOUT;
constexpr char kOfNode[] = PMIX_HOSTNAME "," PMIX_NODEID "," PMIX_TIMEOUT;
constexpr char kOfTable[] =
    PMIX_NSPACE "," PMIX_QUERY_LOCAL_ONLY "," PMIX_TIMEOUT;
constexpr char kOfMemory[] =
    PMIX_PROCID "," PMIX_NSPACE "," PMIX_RANK "," PMIX_HOSTNAME "," PMIX_NODEID
                "," PMIX_QUERY_LOCAL_ONLY "," PMIX_QUERY_REPORT_AVG
                "," PMIX_QUERY_REPORT_MINMAX "," PMIX_TIMEOUT;
constexpr char kOfSupport[] = PMIX_CLIENT_FUNCTIONS
    "," PMIX_CLIENT_ATTRIBUTES "," PMIX_SERVER_FUNCTIONS
    "," PMIX_SERVER_ATTRIBUTES "," PMIX_HOST_FUNCTIONS "," PMIX_HOST_ATTRIBUTES
    "," PMIX_TOOL_FUNCTIONS "," PMIX_TOOL_ATTRIBUTES;
constexpr char kOfTime[] = PMIX_NSPACE "," PMIX_TIMEOUT;
constexpr char kOfAllocation[] =
    PMIX_ALLOC_ID "," PMIX_ALLOC_REQ_ID "," PMIX_TIMEOUT;
constexpr char kOfData[] = PMIX_PROCID
    "," PMIX_NSPACE "," PMIX_RANK "," PMIX_SESSION_INFO "," PMIX_JOB_INFO
    "," PMIX_APP_INFO "," PMIX_NODE_INFO
    ",pmix.proc.info"
    "," PMIX_SESSION_ID "," PMIX_APPNUM "," PMIX_HOSTNAME "," PMIX_NODEID;

struct KeyRow {
  std::string_view key;
  KeyKind kind;
  std::string_view qualifiers = "";
};

constexpr KeyRow kKeyRows[] = {
    {PMIX_QUERY_NAMESPACES, kNamespaces, PMIX_QUERY_LOCAL_ONLY},
    {PMIX_QUERY_NAMESPACE_INFO, kNamespaceInfo, kOfTable},
    {PMIX_QUERY_JOB_STATUS, kJobStatus, kOfNamespace},
    {PMIX_QUERY_PROC_TABLE, kProcTable, kOfTable},
    {PMIX_QUERY_LOCAL_PROC_TABLE, kLocalProcTable, kOfNamespace},
    {PMIX_PROC_PID, kProcPid, kOfProcess},
    {PMIX_PROC_STATE_STATUS, kProcState, kOfProcess},
    {PMIX_QUERY_MEMORY_USAGE, kMemoryUsage, kOfMemory},
    {PMIX_DAEMON_MEMORY, kDaemonMemory, kOfNode},
    {PMIX_CLIENT_AVG_MEMORY, kClientAvgMemory, kOfNode},
    {PMIX_QUERY_NUM_PSETS, kNumPsets},
    {PMIX_QUERY_PSET_NAMES, kPsetNames},
    {PMIX_QUERY_PSET_MEMBERSHIP, kPsetMembers, PMIX_PSET_NAME},
    {PMIX_QUERY_SPAWN_SUPPORT, kSpawnSupport},
    {PMIX_QUERY_DEBUG_SUPPORT, kDebugSupport},
    {PMIX_QUERY_ATTRIBUTE_SUPPORT, kAttributeSupport, kOfSupport},
    {PMIX_QUERY_SUPPORTED_KEYS, kSupportedKeys},
    {PMIX_QUERY_SUPPORTED_QUALIFIERS, kSupportedQualifiers},
    {PMIX_TIME_REMAINING, kTimeRemaining, kOfTime},
    {PMIX_QUERY_QUEUE_LIST, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_QUEUE_STATUS, kScheduler, PMIX_ALLOC_QUEUE "," PMIX_TIMEOUT},
    {PMIX_QUERY_ALLOC_STATUS, kScheduler, kOfAllocation},
    {PMIX_QUERY_AUTHORIZATIONS, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_ALLOCATION, kScheduler, kOfAllocation},
    {PMIX_QUERY_ALLOC_IDS, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_ALLOC_PROPERTIES, kScheduler, kOfAllocation},
    {PMIX_QUERY_AVAILABLE_SLOTS, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_MIN_ALLOC_UNIT, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_RES_BLOCKS, kScheduler, PMIX_TIMEOUT},
    {PMIX_QUERY_RES_BLOCK_DEF, kScheduler,
     PMIX_RESOURCE_BLOCK_NAME "," PMIX_TIMEOUT},
};

const KeyRow* Find(std::string_view key) {
  const auto* row = std::ranges::find(kKeyRows, key, &KeyRow::key);
  return row == std::end(kKeyRows) ? nullptr : row;
}

std::string_view QualifiersOf(std::string_view key) {
  const KeyRow* row = Find(key);
  return row == nullptr ? kOfData : row->qualifiers;
}

bool Contains(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

KeyKind KindOf(std::string_view key) {
  const KeyRow* row = Find(key);
  return row == nullptr ? kJobData : row->kind;
}

bool IsForHost(std::string_view key) {
  const KeyKind kind = KindOf(key);
  return kind == kTimeRemaining || kind == kScheduler;
}

std::string SupportedKeys(bool has_scheduler) {
  std::string list;
  for (const KeyRow& row : kKeyRows) {
    if (row.kind == kScheduler && !has_scheduler) continue;
    if (!list.empty()) list += ',';
    list += row.key;
  }
  return list + "," PMIX_SERVER_URI "," PMIX_QUERY_AVAIL_SERVERS;
}

std::string SupportedQualifiers(std::string_view key) {
  return std::string(QualifiersOf(key));
}

bool Supports(std::string_view key, std::string_view qualifier) {
  const std::string_view list = QualifiersOf(key);
  // A qualifier that names a process names its namespace, too.
  return Contains(list, qualifier) ||
         (qualifier == PMIX_PROCID && Contains(list, PMIX_NSPACE));
}

}  // namespace canopy::core
