#include "client/session/directives.h"

#include "common/values/value.h"

namespace canopy::client {

int TimeoutOf(const pmix_info_t& info, uint32_t* timeout_ms) {
  const std::optional<int64_t> seconds = Int64Of(info.value);
  if (!seconds || *seconds < 0) return PMIX_ERR_BAD_PARAM;
  *timeout_ms =
      *seconds > UINT32_MAX / 1000 ? 0 : static_cast<uint32_t>(*seconds) * 1000;
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
