// Parses the values of --map-by, --rank-by and --bind-to.
#ifndef CANOPY_HOSTMODULE_MAP_POLICY_H_
#define CANOPY_HOSTMODULE_MAP_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "common/topology.h"

namespace canopy::host {

// A mapping policy: slot | node | LEVEL | ppr:N:(node|LEVEL) | seq, with
// modifiers after ':' or ',': pe=N, span, oversubscribe, nooversubscribe,
// nolocal, overload-allowed, hwtcpus, corecpus.
struct MapPolicy {
  enum class Kind : uint8_t { kSlot, kNode, kObject, kPpr, kSeq };
  Kind kind = Kind::kSlot;
  // For kObject and kPpr; without a value kPpr counts per node.
  std::optional<TopologyLevel> level;
  uint32_t per_resource = 0;  // N of kPpr
  uint32_t pe = 1;            // CPUs per process
  bool pe_given = false;
  bool span = false;
  bool no_local = false;
  std::optional<bool> oversubscribe;
  bool overload_allowed = false;
  bool hwthread_cpus = false;  // a CPU is a hardware thread, not a core
};

// A ranking policy: slot | fill | node | span | LEVEL.
struct RankPolicy {
  enum class Kind : uint8_t { kAsMapped, kSlot, kNode, kSpan, kObject };
  Kind kind = Kind::kAsMapped;
  TopologyLevel level = TopologyLevel::kCore;  // for kObject
};

// A binding policy: none | LEVEL, with modifiers overload-allowed, no-overload,
// if-supported; or slots=A|B|... (common/request/slot_list.h), the CPUs of each
// rank.
struct BindPolicy {
  bool given = false;
  std::optional<TopologyLevel> level;  // no value: none
  bool overload_allowed = false;
  bool if_supported = false;
  std::vector<std::string> slots = {};  // by rank; empty: not given
};

// Each function parses a policy. Case is ignored; an empty text is the default
// policy. Returns kErrBadParam for a misspelt word, with a suggestion, and
// kErrNotSupported for a policy of mpirun that Canopy does not have.
Result<MapPolicy> ParseMapBy(std::string_view text);
Result<RankPolicy> ParseRankBy(std::string_view text);
Result<BindPolicy> ParseBindTo(std::string_view text);

// Return the canonical spelling of the policy, without overload-allowed and
// without the modifiers of a binding policy.
std::string ToString(const MapPolicy& policy);
std::string ToString(const RankPolicy& policy);
std::string ToString(const BindPolicy& policy);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAP_POLICY_H_
