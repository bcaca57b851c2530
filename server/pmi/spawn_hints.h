// What PMI says about processes to be spawned, and how it reaches them. As
// client/pmi/spawn.cc has it, so that the two sides of a spawn may speak
// through our library or the wire protocol.
#ifndef CANOPY_SERVER_PMI_SPAWN_HINTS_H_
#define CANOPY_SERVER_PMI_SPAWN_HINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::pmi {

// The attribute of PMIx_Spawn that a hint of MPI_Comm_spawn means. Null: the
// hint has no effect, as MPI demands of unknown ones.
const char* AttributeOfHint(std::string_view name);

// A pair that is to be in the job's key-value space before its first process
// runs travels in the environment of the processes, where whatever library or
// wire protocol they speak finds it. `index` counts the pairs of one job.
std::string PreputEntry(size_t index, std::string_view key,
                        std::string_view value);
// The value of `key` when `entry`, NAME=VALUE, is about it.
std::optional<std::string> PreputValueIn(std::string_view entry,
                                         std::string_view key);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_HINTS_H_
