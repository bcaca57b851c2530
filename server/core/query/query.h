// What a call of PMIx_Query_info asks for: its queries, read and checked.
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

// Bounds of one call. An answer can be large, so these are tight.
inline constexpr size_t kMaxQueryKeys = 512;  // of all its queries
inline constexpr size_t kMaxQualifiers = 64;  // of one query
inline constexpr size_t kMaxQueryBytes = size_t{1} << 20;
inline constexpr size_t kMaxQualifierText = 1024;
// Host names are looked for among those of all nodes.
inline constexpr size_t kMaxHostnames = 64;  // different ones of one call

// Queries of one call that the host is asked; a call with more is refused.
inline constexpr size_t kMaxHostQueries = 16;

// One pmix_query_t. Without a qualifier that says otherwise it is about the
// caller: its job, its application, its node.
struct Query {
  std::vector<std::string> keys;
  // Of no namespace: the caller's. Of rank kRankUndef: none is named.
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
  // Wanted levels of support, by their keys. Empty: all.
  std::vector<std::string> levels = {};
  // Its qualifiers as they came, for the host: codec form, SIZE n, n INFO. Only
  // of a query with keys for it.
  std::string for_host = {};

  bool names_rank() const { return proc.rank != kRankUndef; }
};

// `encoded` is codec form: SIZE n, n QUERY. Returns a PMIx status: kErrBadParam
// for a query without a key, for a process that is named twice or of no rank,
// and for a value that a qualifier can not have; kErrNotSupported for a
// required qualifier that is not known, unless all keys are for the host, which
// judges it; kErrOutOfResource beyond the bounds; otherwise what the decoder
// says. Never reads more than the bounds allow.
int ParseQueries(std::string_view encoded, std::vector<Query>* queries);

// Those of its keys that the host is asked for, each once.
std::vector<std::string> HostKeys(const Query& query);
// What is supported is asked for, of which the host has a part.
bool IsOfSupport(const Query& query);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_H_
