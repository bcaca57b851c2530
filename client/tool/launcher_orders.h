// What a tool gives to the launcher that it starts, besides the variables of
// the chapter "Tools and Debuggers": who the launcher is, and the data of its
// job. It travels in the environment.
#ifndef CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_
#define CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"

namespace canopy::client {

struct LauncherOrders {
  ProcId name;  // the launcher's; without a namespace there are no orders
  // PMIX_PARENT_ID, PMIX_DEBUG_STOP_IN_INIT, PMIX_LAUNCH_DIRECTIVES.
  InfoList job_data;
};

// As the value of a variable. kErrBadParam: values that can not travel;
// kErrOutOfResource: more than 64 KiB.
Result<std::string> WriteOrders(const LauncherOrders& orders);

// The other way. kErrBadParam: WriteOrders does not write such text.
Result<LauncherOrders> ReadOrders(std::string_view text);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_LAUNCHER_ORDERS_H_
