// The queries of one call of PMIx_Query_info, parsed and checked.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "server/core/step/facts.h"

namespace canopy::core {

// Limits of one call. They are tight because an answer can be large.
inline constexpr size_t kMaxQueryKeys = 512;  // in all queries of a call
inline constexpr size_t kMaxQualifiers = 64;  // in one query
inline constexpr size_t kMaxQueryBytes = size_t{1} << 20;
inline constexpr size_t kMaxQualifierText = 1024;
// Maximum number of distinct host names in one call, because each is searched
// among the names of all nodes.
inline constexpr size_t kMaxHostnames = 64;

// Maximum number of queries in one call that involve the host; a call with more
// is rejected.
inline constexpr size_t kMaxHostQueries = 16;

// One pmix_query_t. Without qualifiers, a query is about the caller's own
// process, job, application and node.
struct Query {
  std::vector<std::string> keys;
  // An empty namespace stands for the caller's. The rank is kRankUndef if the
  // query names no rank.
  ProcId proc{"", kRankUndef};
  DataRealm realm = DataRealm::kAny;
  std::optional<uint32_t> appnum = std::nullopt;
  std::optional<uint32_t> nodeid = std::nullopt;
  std::optional<uint32_t> session_id = std::nullopt;
  std::string hostname = {};
  std::string queue = {};      // PMIX_ALLOC_QUEUE
  std::string pset = {};       // PMIX_PSET_NAME
  bool local_only = false;     // PMIX_QUERY_LOCAL_ONLY
  bool average = false;        // PMIX_QUERY_REPORT_AVG
  bool minmax = false;         // PMIX_QUERY_REPORT_MINMAX
  bool of_qualifiers = false;  // PMIX_QUERY_SUPPORTED_QUALIFIERS
  uint32_t timeout_ms = 0;     // PMIX_TIMEOUT; 0: none
  // Requested levels of support, by their keys; empty for all levels.
  std::vector<std::string> levels = {};
  // The qualifiers for the host, as they arrived, in codec form (SIZE n, then n
  // INFO). Set only for a query with keys for the host.
  std::string for_host = {};
  // The qualifiers that do not affect any key and are not required.
  std::vector<std::string> ignored = {};

  bool names_rank() const { return proc.rank != kRankUndef; }
};

// Parses the queries of a call. `encoded` is in codec form: SIZE n, then n
// QUERY. Returns kErrBadParam for a call without queries, a query without keys,
// an invalid key, a process that is named twice or has an invalid rank, and an
// invalid value of a qualifier; kErrNotSupported for a required qualifier that
// does not affect any key, unless all keys are for the host, which decides
// about the qualifier; kErrOutOfResource beyond the limits; otherwise the
// status of the decoder. Never reads more than the limits allow.
int ParseQueries(std::string_view encoded, std::vector<Query>* queries);

// Returns the keys that are requested from the host, without duplicates.
std::vector<std::string> HostKeys(const Query& query);
// Returns true if the query requests supported keys, qualifiers or attributes,
// of which the host knows a part.
bool IsOfSupport(const Query& query);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_H_
