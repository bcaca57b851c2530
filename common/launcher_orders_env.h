// The variable by which a tool gives its orders to the launcher that it starts,
// for whichever process of the launcher reads them (client/tool).
#ifndef CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_
#define CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_

namespace canopy {

inline constexpr char kEnvLauncherOrders[] = "CANOPY_LAUNCHER_ORDERS";

}  // namespace canopy

#endif  // CANOPY_COMMON_LAUNCHER_ORDERS_ENV_H_
