// Classifies the keys that a query may contain.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::core {

enum class KeyKind : uint8_t {
  kJobData,  // any other key: answered as PMIx_Get would
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
  kTimeRemaining,  // agents know it; a scheduler may, too
  kScheduler,      // only a scheduler knows: queues, allocations
};

// Returns the kind of the key; kJobData for an unknown key.
KeyKind KindOf(std::string_view key);
// Returns true if the host is requested to answer the key: either only a
// scheduler has an answer, or its answer is better than that of agents.
bool IsForHost(std::string_view key);

// Return comma-separated lists: all keys that can have an answer, including
// those of a scheduler if there is one, and the qualifiers that one key
// supports (possibly none).
std::string SupportedKeys(bool has_scheduler);
std::string SupportedQualifiers(std::string_view key);
// Returns true if the qualifier changes the answer for the key, or limits the
// time of the answer.
bool Supports(std::string_view key, std::string_view qualifier);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_KEYS_H_
