// The fields of a process identifier in a described struct.
#ifndef CANOPY_COMMON_DESCRIBE_PROCS_H_
#define CANOPY_COMMON_DESCRIBE_PROCS_H_

#include "common/describe.h"
#include "common/ids.h"

namespace canopy {

template <typename V>
void Describe(V& v, wire::Is<ProcId> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
}

}  // namespace canopy

#endif  // CANOPY_COMMON_DESCRIBE_PROCS_H_
