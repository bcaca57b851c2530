// Data that a tool passes to the launcher it starts, in addition to the
// variables of the Standard's chapter "Tools and Debuggers": the launcher's
// name and the data of its job. They are passed in the environment.
#ifndef CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_
#define CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"

namespace canopy::client {

struct LauncherOrders {
  ProcId name;  // the launcher's; empty namespace: no orders
  // PMIX_PARENT_ID, PMIX_DEBUG_STOP_IN_INIT, PMIX_LAUNCH_DIRECTIVES.
  InfoList job_data;
};

// Encodes the orders as the value of a variable. Fails with kErrBadParam for
// values that cannot be encoded, and with kErrOutOfResource above 64 KiB.
Result<std::string> WriteOrders(const LauncherOrders& orders);

// Decodes the orders. Fails with kErrBadParam if WriteOrders cannot have
// written the text.
Result<LauncherOrders> ReadOrders(std::string_view text);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_
