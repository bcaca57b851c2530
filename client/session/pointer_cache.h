// Values that were returned as pointers into the library's memory
// (PMIX_GET_POINTER_VALUES). They live until the session ends.
#ifndef CANOPY_CLIENT_SESSION_POINTER_CACHE_H_
#define CANOPY_CLIENT_SESSION_POINTER_CACHE_H_

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// Thread-safe.
class PointerCache {
 public:
  // Takes over the content of *value. Returns the same pointer as before if the
  // value is unchanged.
  pmix_value_t* Keep(const ProcId& proc, std::string_view key,
                     pmix_value_t* value);

 private:
  Mutex mu_;
  // The values are in deques, because elements of a deque never move.
  std::map<std::pair<ProcId, std::string>, std::deque<Value>> values_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_POINTER_CACHE_H_
