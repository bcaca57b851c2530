// Info arrays of callers, and functions that read single directives.
#ifndef CANOPY_CLIENT_SESSION_DIRECTIVES_H_
#define CANOPY_CLIENT_SESSION_DIRECTIVES_H_

#include <cstddef>
#include <cstdint>

#include "common/required.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace canopy::client {

// An array that belongs to a caller and is not used after the call.
struct InfoArray {
  const pmix_info_t* infos = nullptr;
  size_t size = 0;

  // Returns false for a null pointer with a size above 0.
  bool ok() const { return infos != nullptr || size == 0; }
};

// Returns true if the info's value counts as true (ValueTruth), as an empty
// value does.
inline bool IsTrue(const pmix_info_t& info) {
  return ValueTruth(info.value) == PMIX_BOOL_TRUE;
}

// Returns true if the call must be refused unless the directive is honoured.
inline bool IsRequired(const pmix_info_t& info) {
  return MustHonour(info.flags);
}

// Reads PMIX_TIMEOUT, which is in seconds, as milliseconds; 0 means no limit.
// Returns PMIX_ERR_BAD_PARAM if it is negative or not a number. A timeout that
// does not fit into a frame means no limit.
int TimeoutOf(const pmix_info_t& info, uint32_t* timeout_ms);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_DIRECTIVES_H_
