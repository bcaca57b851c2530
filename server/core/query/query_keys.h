// The keys that a query may name beside those of job data: what each asks for.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::core {

enum class KeyKind : uint8_t {
  kJobData,  // any key that is none of the others: what PMIx_Get has
  kNamespaces,
  kNamespaceInfo,
  kJobStatus,
  kProcTable,
  kLocalProcTable,
  kProcPid,
  kProcState,
  kMemoryUsage,
  kDaemonMemory,
  kClientAvgMemory,
  kNumPsets,
  kPsetNames,
  kPsetMembers,
  kSpawnSupport,
  kDebugSupport,
  kAttributeSupport,
  kSupportedKeys,
  kSupportedQualifiers,
  kTimeRemaining,  // a scheduler's too
  kScheduler,      // a scheduler's alone: queues, allocations
};

KeyKind KindOf(std::string_view key);
// Whether the host is asked for it: only a scheduler has an answer, or a better
// one than agents.
bool IsForHost(std::string_view key);

// Joined by commas: all keys that can have an answer, those of a scheduler
// where one answers queries, and the qualifiers that are heeded for one. The
// latter is empty for a key that takes none.
std::string SupportedKeys(bool has_scheduler);
std::string SupportedQualifiers(std::string_view key);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_
