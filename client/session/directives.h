// Info arrays of callers, and reading single directives in them.
#ifndef CANOPY_CLIENT_SESSION_DIRECTIVES_H_
#define CANOPY_CLIENT_SESSION_DIRECTIVES_H_

#include <cstddef>
#include <cstdint>

#include "common/required.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace canopy::client {

// An array of a caller, which is not used after the call.
struct InfoArray {
  const pmix_info_t* infos = nullptr;
  size_t size = 0;

  // A null pointer has no size.
  bool ok() const { return infos != nullptr || size == 0; }
};

inline bool IsTrue(const pmix_info_t& info) {
  return ValueTruth(info.value) == PMIX_BOOL_TRUE;
}

inline bool IsRequired(const pmix_info_t& info) {
  return MustHonour(info.flags);
}

// PMIX_TIMEOUT, seconds, as milliseconds; 0: none. PMIX_ERR_BAD_PARAM when it
// is not a number or negative. Longer than a frame can hold means no limit.
int TimeoutOf(const pmix_info_t& info, uint32_t* timeout_ms);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_DIRECTIVES_H_
