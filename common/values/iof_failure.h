// The content of the events PMIX_ERR_IOF_FAILURE and PMIX_ERR_IOF_COMPLETE.
#ifndef CANOPY_COMMON_VALUES_IOF_FAILURE_H_
#define CANOPY_COMMON_VALUES_IOF_FAILURE_H_

#include <cstdint>
#include <span>

#include "common/ids.h"
#include "common/values/info_list.h"

namespace canopy {

// Keys for infos of both events that have no key in the Standard: the channels
// (uint16_t, pmix_iof_channel_t), and the status with which the forwarding of
// these channels ended (pmix_status_t).
inline constexpr char kIofChannels[] = "canopy.iof.channels";
inline constexpr char kIofStatus[] = "canopy.iof.status";

// Returns the infos of an event about output or input of the processes `procs`.
// `why` is kSuccess if the forwarding ended regularly.
InfoList IofEventInfos(std::span<const ProcId> procs, uint16_t channels,
                       int why);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_IOF_FAILURE_H_
