// The directives of PMIx_Get, read once from their info array.
#ifndef CANOPY_CLIENT_SESSION_GET_OPTIONS_H_
#define CANOPY_CLIENT_SESSION_GET_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "client/session/realm.h"
#include "pmix.h"

namespace canopy::client {

struct GetOptions {
  bool optional = false;        // PMIX_OPTIONAL: no request
  bool immediate = false;       // PMIX_IMMEDIATE: only data at the agent
  bool refresh = false;         // PMIX_GET_REFRESH_CACHE
  bool static_values = false;   // PMIX_GET_STATIC_VALUES
  bool pointer_values = false;  // PMIX_GET_POINTER_VALUES
  // PMIX_DATA_SCOPE; PMIX_SCOPE_UNDEF means any scope.
  pmix_scope_t scope = PMIX_SCOPE_UNDEF;
  // The realm that a directive such as PMIX_SESSION_INFO names. kUnknown means
  // the realm of the key.
  Realm realm = Realm::kUnknown;
  // Qualifiers of a realm. `hostname` is a view of the caller's array.
  std::optional<uint32_t> session_id;
  std::optional<uint32_t> appnum;
  std::optional<uint32_t> nodeid;
  std::string_view hostname;
  // Qualifiers of PMIX_FABRIC_DEVICE, as views of the caller's array.
  std::string_view device_id;
  std::string_view device_name;
  uint32_t timeout_ms = 0;  // 0: none
  // True if some infos are marked with PMIX_INFO_QUALIFIER.
  bool qualified = false;
  // True if one of these infos is not a directive of PMIx_Get.
  bool narrowed = false;
};

// Returns a PMIx status: PMIX_ERR_BAD_PARAM for contradictory directives or
// invalid values, PMIX_ERR_NOT_SUPPORTED for a required directive that the
// library does not know.
int ParseGetOptions(const pmix_info_t* info, size_t ninfo, GetOptions* out);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GET_OPTIONS_H_
