// The rule for directives that neither an OpenPMIx library nor an agent
// honours: a required one makes the call fail, any other one is reported in the
// agent's log. The core or the host checks all calls that are not named here.
#ifndef CANOPY_SERVER_OPENPMIX_DIRECTIVE_CHECK_H_
#define CANOPY_SERVER_OPENPMIX_DIRECTIVE_CHECK_H_

#include <string_view>

#include "common/values/info_list.h"
#include "server/openpmix/reading.h"

namespace canopy::openpmix {

// Checks the directives of a call of `function`, which is one of PMIx_Fence,
// PMIx_Connect, PMIx_Disconnect, PMIx_Group_leave, PMIx_Get, PMIx_Notify_event,
// PMIx_IOF_pull, PMIx_IOF_push and PMIx_IOF_deregister. Fails `r.in` with
// kErrNotSupported for a required directive without an effect, and adds other
// directives without an effect to `r.ignored`.
void CheckDirectives(Reading& r, std::string_view function,
                     const InfoList& infos);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_DIRECTIVE_CHECK_H_
