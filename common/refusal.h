// Identifies the replies by which an agent keeps a process from taking part in
// a collective.
#ifndef CANOPY_COMMON_REFUSAL_H_
#define CANOPY_COMMON_REFUSAL_H_

#include "common/status.h"

namespace canopy {

// Returns true if the agent did not let the process take part, so that the
// number of its collectives with these participants is unchanged. A process and
// a later agent must agree on this number.
inline bool IsRefusal(int status) {
  switch (status) {
    case kErrBadParam:
    case kErrNotSupported:
    case kErrOutOfResource:
    case kErrResourceBusy:
    case kErrInvalidOperation:
    case kErrInit:
    case kErrNotFound:
      return true;
    default:
      return false;
  }
}

}  // namespace canopy

#endif  // CANOPY_COMMON_REFUSAL_H_
