// The attributes of PMIx_Spawn: which are honoured, and what becomes of each.
#ifndef CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
#define CANOPY_SERVER_SPAWN_ATTRIBUTES_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "server/spawn/spawn_call.h"

namespace canopy::spawn {

// Whether PMIX_COSPAWN_APP is said, or `otherwise` where nothing is.
// kErrBadParam: with a value that is no bool.
Result<bool> IsCospawned(std::span<const pmix_info_t> infos, bool otherwise);

// Whether an application is marked as debugger daemons. Errors as above.
Result<bool> AreDaemons(std::span<const pmix_info_t> infos);

// Applies an info of the whole job. kErrBadParam, kErrNotSupported: as
// ParseSpawnCall.
Status ApplyToJob(const pmix_info_t& info, SpawnCall* call);
// The same of the application; `call` has all applications.
Status ApplyToApp(const pmix_info_t& info, SpawnCall* call, SpawnApp* app);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
