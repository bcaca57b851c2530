// The environment variable in which a tool passes its directives to the
// launcher that it starts. The process of the launcher that connects to the
// tool reads it (client/tool).
#ifndef CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_
#define CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_

namespace canopy {

inline constexpr char kEnvLauncherOrders[] = "CANOPY_LAUNCHER_ORDERS";

}  // namespace canopy

#endif  // CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_
