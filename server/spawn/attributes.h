// The supported attributes of PMIx_Spawn, and their effects.
#ifndef CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
#define CANOPY_SERVER_SPAWN_ATTRIBUTES_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "server/spawn/spawn_call.h"

namespace canopy::spawn {

// Returns the value of PMIX_COSPAWN_APP, or `otherwise` if it is absent. Fails
// with kErrBadParam if the value is not a bool.
Result<bool> IsCospawned(std::span<const pmix_info_t> infos, bool otherwise);

// Returns true if an application is marked as debugger daemons. Fails like
// IsCospawned.
Result<bool> AreDaemons(std::span<const pmix_info_t> infos);

// Applies an info of the whole job. Fails with kErrBadParam or kErrNotSupported
// like ParseSpawnCall.
Status ApplyToJob(const pmix_info_t& info, SpawnCall* call);
// Applies an info of one application; `call` contains all applications. Fails
// like ApplyToJob.
Status ApplyToApp(const pmix_info_t& info, SpawnCall* call, SpawnApp* app);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
