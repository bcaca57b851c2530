// What the event PMIX_ERR_IOF_FAILURE, or PMIX_ERR_IOF_COMPLETE, says.
#ifndef CANOPY_COMMON_VALUES_IOF_FAILURE_H_
#define CANOPY_COMMON_VALUES_IOF_FAILURE_H_

#include <cstdint>
#include <span>

#include "common/ids.h"
#include "common/values/info_list.h"

namespace canopy {

// The Standard has no keys for the channels (uint16_t, pmix_iof_channel_t) that
// an event is about, and for why their forwarding has ended (pmix_status_t).
inline constexpr char kIofChannels[] = "canopy.iof.channels";
inline constexpr char kIofStatus[] = "canopy.iof.status";

// Of output or input of these processes; `why` is kSuccess where it has ended
// as it should.
InfoList IofEventInfos(std::span<const ProcId> procs, uint16_t channels,
                       int why);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_IOF_FAILURE_H_
