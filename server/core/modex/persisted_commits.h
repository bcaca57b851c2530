// Commits of local ranks as journal records that a successor recovers.
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

// Persists the data that a local rank has just committed to `modex`. Each key
// has one record, so a later value replaces the earlier one. After a key was
// put for one side only, it has one record for each side. A record for each
// scope would not do: a successor would need their order, but a record that is
// written with an equal value keeps its place. `data` must be well-formed.
void PersistCommit(const ModexStore& modex, const ProcId& proc,
                   const std::vector<ScopedData>& data, Actions* actions);

// Returns the commits by rank, in their order; ignores other records.
std::map<Rank, std::vector<ScopedData>> RecoverCommits(
    const std::vector<PersistedRecord>& records);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_PERSISTED_COMMITS_H_
