// The attributes of PMIx_Spawn: which are honoured, and what becomes of each.
#ifndef CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
#define CANOPY_SERVER_SPAWN_ATTRIBUTES_H_

#include "common/status.h"
#include "common/values/info_list.h"
#include "server/spawn/spawn_call.h"

namespace canopy::spawn {

// Applies an info of the whole job. kErrBadParam, kErrNotSupported: as
// ParseSpawnCall.
Status ApplyToJob(const pmix_info_t& info, SpawnCall* call);
// The same of the application; `call` has all applications.
Status ApplyToApp(const pmix_info_t& info, SpawnCall* call, SpawnApp* app);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_ATTRIBUTES_H_
