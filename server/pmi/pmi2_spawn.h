// What a PMI-2 client says of processes to be spawned.
#ifndef CANOPY_SERVER_PMI_PMI2_SPAWN_H_
#define CANOPY_SERVER_PMI_PMI2_SPAWN_H_

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace canopy::pmi {

// What PMIx_Spawn gets (see spawn_request.h) for the pairs of a spawn command,
// in their order: ncmds, preputcount, ppkeyN and ppvalN; then for each command
// subcmd, maxprocs, argc, argvN, infokeycount, infokeyN and infovalN.
// kErrBadParam when what is counted is not there.
Result<std::string> SpawnCallOfPairs(
    const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI2_SPAWN_H_
