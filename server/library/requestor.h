// The process that sends a request to the host.
#ifndef CANOPY_SERVER_LIBRARY_REQUESTOR_H_
#define CANOPY_SERVER_LIBRARY_REQUESTOR_H_

#include <algorithm>
#include <cstdint>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/client_inputs.h"

namespace canopy::library {

struct HostCaller {
  ProcId proc;
  uint32_t uid = 0;
  uint32_t gid = 0;  // the group, or core::kUnknownGroup
  bool is_tool = false;
};

// Adds the caller's user and group. Every request to the host contains them.
inline void AddUser(const HostCaller& caller, InfoList* infos) {
  infos->Set(PMIX_USERID, Value::Uint32(caller.uid));
  if (caller.gid == core::kUnknownGroup) return;
  infos->Set(PMIX_GRPID, Value::Uint32(caller.gid));
}

// Returns PMIX_TIMEOUT in milliseconds for Upcalls::Call; 0 means no timeout.
inline uint32_t TimeoutOf(const InfoList& infos) {
  // The milliseconds of this time fit into 32 bits.
  constexpr uint64_t kMostSeconds = 4'000'000;
  const uint64_t seconds = infos.FindUint(PMIX_TIMEOUT).value_or(0);
  return static_cast<uint32_t>(std::min(seconds, kMostSeconds) * 1000);
}

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_REQUESTOR_H_
