#include "server/library/host_module.h"

#include <cstring>
#include <optional>

#include "common/values/info_list.h"

namespace canopy::library {

Result<size_t> NumEntries(std::span<const pmix_info_t> directives) {
  const pmix_info_t* given = FindInfo(directives, CANOPY_SERVER_MODULE_ENTRIES);
  if (given == nullptr) return kUsualEntries;
  const std::optional<uint64_t> count = Uint64Of(given->value);
  if (!count || *count < kFewestEntries || *count > kMostEntries) {
    return Status(kErrBadParam, "a module has 21 to 32 entries");
  }
  return static_cast<size_t>(*count);
}

canopy_server_module_t CopyModule(const pmix_server_module_t* module,
                                  size_t entries) {
  canopy_server_module_t copy = {};
  if (module != nullptr) {
    std::memcpy(static_cast<void*>(&copy), module,
                entries * sizeof(pmix_server_fencenb_fn_t));
  }
  return copy;
}

}  // namespace canopy::library
