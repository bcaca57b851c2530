// The directives of a collective call (pmix_info_t) that the core checks.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DIRECTIVES_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DIRECTIVES_H_

#include "common/bytes.h"

namespace canopy::core {

// Checks the directives of a call. `info` is SIZE n and n INFO in codec form,
// or empty. Returns kErrNotSupported for a required directive that is not
// honoured, and kErrBadParam for malformed directives.
int CheckDirectives(const Bytes& info);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DIRECTIVES_H_
