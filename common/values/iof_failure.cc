#include "common/values/iof_failure.h"

#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy {

InfoList IofEventInfos(std::span<const ProcId> procs, uint16_t channels,
                       int why) {
  InfoList infos;
  if (procs.size() == 1) {
    infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(procs.front()));
  } else {
    infos.Add(PMIX_EVENT_AFFECTED_PROCS, Value::ProcArray(procs));
  }
  infos.Add(kIofChannels, Value::Uint16(channels));
  infos.Add(kIofStatus, Value::Status(why));
  return infos;
}

}  // namespace canopy
