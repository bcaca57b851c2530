// The fields of a process identifier in a described struct.
#ifndef CANOPY_COMMON_DESCRIBE_PROCS_H_
#define CANOPY_COMMON_DESCRIBE_PROCS_H_

#include "common/describe.h"
#include "common/ids.h"

namespace canopy {

template <typename V, typename P>
requires wire::Is<P, ProcId> || wire::Is<P, ProcView>
void Describe(V& v, P& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
}

}  // namespace canopy

#endif  // CANOPY_COMMON_DESCRIBE_PROCS_H_
