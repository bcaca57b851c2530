// Infos and values of PMIx as messages of the scheduler's service.
#ifndef CANOPY_SERVER_SCHEDULER_INFOS_H_
#define CANOPY_SERVER_SCHEDULER_INFOS_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "protos/host_module.pb.h"

namespace canopy::scheduler {

// Pure functions. What has no kind of its own travels encoded, so nothing is
// lost on the way there and back.
void PutInfo(const pmix_info_t& info, hostmodule::v1::Info* out);
void PutInfos(std::span<const pmix_info_t> infos,
              google::protobuf::RepeatedPtrField<hostmodule::v1::Info>* out);

// kErrUnpackFailure: a key that is too long, a value that its type cannot hold,
// or more than the bounds: 512 infos in one array, arrays in arrays 8 deep.
Result<InfoList> GetInfos(
    const google::protobuf::RepeatedPtrField<hostmodule::v1::Info>& infos);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_INFOS_H_
