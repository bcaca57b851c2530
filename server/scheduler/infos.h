// Converts infos and values of PMIx to messages of the scheduler's service.
#ifndef CANOPY_SERVER_SCHEDULER_INFOS_H_
#define CANOPY_SERVER_SCHEDULER_INFOS_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::scheduler {

// Pure functions. A value for which the service has no kind is sent in encoded
// form, so nothing is lost in either direction.
void PutInfo(const pmix_info_t& info, hostmodule::v1::Info* out);
void PutInfos(std::span<const pmix_info_t> infos,
              google::protobuf::RepeatedPtrField<hostmodule::v1::Info>* out);

// Returns the infos of a message. Returns kErrUnpackFailure for a key that is
// too long, for a value that its type cannot hold, and if a limit is exceeded:
// 512 infos in one array, 4096 in total, and 8 levels of nested arrays.
Result<InfoList> GetInfos(
    const google::protobuf::RepeatedPtrField<hostmodule::v1::Info>& infos);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_INFOS_H_
