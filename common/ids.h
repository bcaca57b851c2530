// Identities that all parts of Canopy share.
#ifndef CANOPY_COMMON_IDS_H_
#define CANOPY_COMMON_IDS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace canopy {

// A process's number inside its namespace (PMIx Standard, "Data Structures and
// Types"). The highest values are reserved; see the constants below.
using Rank = uint32_t;

inline constexpr Rank kRankUndef = UINT32_MAX;
inline constexpr Rank kRankWildcard = UINT32_MAX - 1;
inline constexpr Rank kRankLocalNode = UINT32_MAX - 2;
inline constexpr Rank kRankInvalid = UINT32_MAX - 3;
inline constexpr Rank kRankLocalPeers = UINT32_MAX - 4;
// The highest rank that names a process.
inline constexpr Rank kRankValid = UINT32_MAX - 50;

// The longest namespace and key in bytes, without the terminator.
inline constexpr size_t kMaxNspaceLen = 255;
inline constexpr size_t kMaxKeyLen = 511;

// The index of an agent in the overlay's member list; agents are sorted by it.
using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

struct ProcId {
  std::string nspace;
  Rank rank = kRankUndef;

  auto operator<=>(const ProcId&) const = default;
};

// Returns "nspace:rank", for logs and messages.
std::string ToString(const ProcId& proc);

// A process whose namespace has another owner, which must outlive this view.
struct ProcView {
  std::string_view nspace;
  Rank rank = kRankUndef;

  auto operator<=>(const ProcView&) const = default;
};
inline ProcView ViewOf(const ProcId& proc) { return {proc.nspace, proc.rank}; }
inline ProcId OwnerOf(const ProcView& proc) {
  return {std::string(proc.nspace), proc.rank};
}

struct ProcIdHash {
  size_t operator()(const ProcId& p) const noexcept {
    return std::hash<std::string>()(p.nspace) * 31 + p.rank;
  }
};

}  // namespace canopy

#endif  // CANOPY_COMMON_IDS_H_
