// The way in which PMI describes processes to be spawned. It is the same as in
// client/pmi/spawn.cc, so that one side of a spawn may use the library and the
// other side the wire protocol.
#ifndef CANOPY_SERVER_PMI_SPAWN_HINTS_H_
#define CANOPY_SERVER_PMI_SPAWN_HINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// Returns the attribute of PMIx_Spawn for a hint of MPI_Comm_spawn; null if the
// hint is ignored, as MPI requires for unknown hints.
const char* AttributeOfHint(std::string_view name);

// Returns the environment entry for a pair that the job's key-value space must
// contain before its first process runs. The processes find the pair there with
// any library or wire protocol. `index` counts the pairs of one job.
std::string PreputEntry(size_t index, std::string_view key,
                        std::string_view value);
// Returns the value of `key` if `entry`, NAME=VALUE, contains it; otherwise no
// value.
std::optional<std::string> PreputValueIn(std::string_view entry,
                                         std::string_view key);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_HINTS_H_
