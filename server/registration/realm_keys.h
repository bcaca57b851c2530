// The realm of a reserved key that is outside all arrays.
#ifndef CANOPY_SERVER_REGISTRATION_REALM_KEYS_H_
#define CANOPY_SERVER_REGISTRATION_REALM_KEYS_H_

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "pmix_common.h"
#include "pmix_deprecated.h"

namespace canopy::registration {

// The keys of a session.
inline constexpr std::array kSessionKeys = std::to_array<std::string_view>(
    {PMIX_SESSION_ID, PMIX_UNIV_SIZE, PMIX_CLUSTER_ID, PMIX_TMPDIR,
     PMIX_TDIR_RMCLEAN, PMIX_HOSTNAME_KEEP_FQDN, PMIX_RM_NAME, PMIX_RM_VERSION,
     PMIX_SERVER_HOSTNAME});

// The keys of this node.
inline constexpr std::array kNodeKeys = std::to_array<std::string_view>(
    {PMIX_HOSTNAME, PMIX_HOSTNAME_ALIASES, PMIX_NODEID, PMIX_NODE_SIZE,
     PMIX_LOCAL_SIZE, PMIX_LOCAL_PEERS, PMIX_LOCALLDR, PMIX_LOCAL_CPUSETS,
     PMIX_LOCAL_PROCS, PMIX_NODE_OVERSUBSCRIBED, PMIX_AVAIL_PHYS_MEMORY,
     PMIX_TOPOLOGY_SIGNATURE});

// The keys that identify a node.
inline constexpr std::array kNamesOfNode = std::to_array<std::string_view>(
    {PMIX_HOSTNAME, PMIX_HOSTNAME_ALIASES, PMIX_NODEID});

// The keys of a job's only application.
inline constexpr std::array kAppKeys = std::to_array<std::string_view>(
    {PMIX_APPNUM, PMIX_APP_SIZE, PMIX_APPLDR, PMIX_APP_ARGV, PMIX_WDIR,
     PMIX_APP_MAP_TYPE, PMIX_APP_MAP_REGEX, PMIX_PSET_NAMES});

inline bool IsAnyOf(std::string_view key,
                    std::span<const std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_REALM_KEYS_H_
