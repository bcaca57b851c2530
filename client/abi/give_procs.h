// Conversion of processes to C arrays.
#ifndef CANOPY_CLIENT_ABI_GIVE_PROCS_H_
#define CANOPY_CLIENT_ABI_GIVE_PROCS_H_

#include <cstddef>
#include <vector>

#include "common/ids.h"
#include "common/values/memory.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// Copies processes into an array that the caller frees. Leaves the arguments
// unchanged if there are no processes. Returns PMIX_ERR_NOMEM if memory is
// exhausted.
inline pmix_status_t GiveProcs(const std::vector<ProcId>& found,
                               pmix_proc_t** procs, size_t* nprocs) {
  if (found.empty()) return PMIX_SUCCESS;
  auto* array = static_cast<pmix_proc_t*>(
      AllocateZeroed(found.size(), sizeof(pmix_proc_t)));
  if (array == nullptr) return PMIX_ERR_NOMEM;
  for (size_t i = 0; i < found.size(); ++i) array[i] = ToC(found[i]);
  *procs = array;
  *nprocs = found.size();
  return PMIX_SUCCESS;
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_GIVE_PROCS_H_
