// Where a container finds its node's agent: the kubelet mounts these
// directories into every container that requests ranks (docs/kubernetes.md).
#ifndef CANOPY_SERVER_SHIM_POD_POD_PATHS_H_
#define CANOPY_SERVER_SHIM_POD_POD_PATHS_H_

namespace canopy::process {

// The directory of the agent's sockets.
inline constexpr char kPodRunDirectory[] = "/run/canopy";
// The names of the socket for canopy-exec and of that for clients of libpmix.
inline constexpr char kPodShimSocket[] = "pods.sock";
inline constexpr char kPodClientSocket[] = "pmix.sock";
// The directory of Canopy's programs and libraries.
inline constexpr char kPodFilesDirectory[] = "/opt/canopy";

// The variable with the number of ranks of a container. Its presence marks the
// containers that request ranks.
inline constexpr char kPodRanksVariable[] = "CANOPY_RANKS";

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_POD_POD_PATHS_H_
