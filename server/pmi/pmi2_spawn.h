// Converts the spawn command of a PMI-2 client.
#ifndef CANOPY_SERVER_PMI_PMI2_SPAWN_H_
#define CANOPY_SERVER_PMI_PMI2_SPAWN_H_

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace canopy::pmi {

// Returns the call of PMIx_Spawn (see spawn_request.h) for the pairs of a spawn
// command, in their order: ncmds, preputcount, ppkeyN and ppvalN; then for each
// command subcmd, maxprocs, argc, argvN, infokeycount, infokeyN and infovalN.
// Returns kErrBadParam if a count does not match the pairs.
Result<std::string> SpawnCallOfPairs(
    const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI2_SPAWN_H_
