// Commits of local ranks as records that a successor recovers.
#ifndef CANOPY_SERVER_CORE_MODEX_PERSISTED_COMMITS_H_
#define CANOPY_SERVER_CORE_MODEX_PERSISTED_COMMITS_H_

#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/modex/modex.h"
#include "server/core/step/action.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// What a local rank has just committed to `modex`. One record for each key, so
// that a later value replaces an earlier one; of a key that was put for one
// side alone, one for each side from then on, as a record that does not change
// keeps its place among the others. `data` is well-formed.
void PersistCommit(const ModexStore& modex, const ProcId& proc,
                   const std::vector<ScopedData>& data, Actions* actions);

// Commits by rank, in their order. Other records are left out.
std::map<Rank, std::vector<ScopedData>> RecoverCommits(
    const std::vector<PersistedRecord>& records);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_PERSISTED_COMMITS_H_
