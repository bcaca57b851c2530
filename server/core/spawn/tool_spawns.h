// Distinguishes spawns of tools from spawns of processes of jobs.
#ifndef CANOPY_SERVER_CORE_SPAWN_TOOL_SPAWNS_H_
#define CANOPY_SERVER_CORE_SPAWN_TOOL_SPAWNS_H_

#include "server/core/step/client_id.h"

namespace canopy::core {

// Requests of tools have numbers from here on, which no process of a job
// reaches. A request with the first of these numbers and without a call reports
// that the tool is gone.
inline constexpr RequestId kSpawnsOfTools = RequestId{1} << 63;

inline bool IsOfTool(RequestId request) { return request >= kSpawnsOfTools; }

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_SPAWN_TOOL_SPAWNS_H_
