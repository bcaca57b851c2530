// Callbacks of non-blocking calls.
#ifndef CANOPY_CLIENT_ABI_CALLBACK_H_
#define CANOPY_CLIENT_ABI_CALLBACK_H_

#include <cstddef>
#include <cstdint>

#include "pmix.h"

namespace canopy::client {

// Returns `callback`, or for null a function that ignores its arguments:
// callers may pass null if they do not need the outcome.
template <typename... Args>
auto OrIgnore(void (*callback)(Args...)) {
  return callback != nullptr ? callback : +[](Args...) {};
}

// Returns `callback`, or for null a function that only calls the release
// function.
inline pmix_info_cbfunc_t OrIgnore(pmix_info_cbfunc_t callback) {
  if (callback != nullptr) return callback;
  return [](pmix_status_t, pmix_info_t*, size_t, void*,
            pmix_release_cbfunc_t release, void* release_cbdata) {
    if (release != nullptr) release(release_cbdata);
  };
}

// Calls `callback` with an error and without data.
inline void Fail(pmix_op_cbfunc_t callback, pmix_status_t status,
                 void* cbdata) {
  callback(status, cbdata);
}
inline void Fail(pmix_info_cbfunc_t callback, pmix_status_t status,
                 void* cbdata) {
  callback(status, nullptr, 0, cbdata, nullptr, nullptr);
}
inline void Fail(pmix_hdlr_reg_cbfunc_t callback, pmix_status_t status,
                 void* cbdata) {
  callback(status, SIZE_MAX, cbdata);
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_CALLBACK_H_
