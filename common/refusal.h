// Which answers to a collective mean that it was not taken part in.
#ifndef CANOPY_COMMON_REFUSAL_H_
#define CANOPY_COMMON_REFUSAL_H_

#include "common/status.h"

namespace canopy {

// The agent did not let the process take part, so its number of collectives on
// that set is as before. What a process and a later agent count must agree.
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
