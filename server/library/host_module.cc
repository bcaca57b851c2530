#include "server/library/host_module.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "common/string_util.h"
#include "common/values/info_list.h"
#include "server/library/module_size.h"

namespace canopy::library {

namespace {

constexpr char kVariable[] = "CANOPY_SERVER_MODULE_ENTRIES";

Result<size_t> Checked(std::optional<uint64_t> count) {
  if (!count || *count < kFewestEntries || *count > kMostEntries) {
    return Status(kErrBadParam, "a module has 21 to 32 entries");
  }
  return static_cast<size_t>(*count);
}

// Returns the number of entries of the module, or kUsualEntries for null. The
// object of the host that contains the module may continue after it, so a word
// is counted only if it can be an entry (PlausibleEntries).
size_t Found(const pmix_server_module_t* module) {
  if (module == nullptr) return kUsualEntries;
  const std::optional<size_t> bytes = BytesInSymbol(module);
  const size_t most =
      bytes ? std::min(*bytes / sizeof(pmix_server_fencenb_fn_t), kMostEntries)
            : kUsualEntries;
  return PlausibleEntries(module, kFewestEntries,
                          std::max(most, kFewestEntries));
}

}  // namespace

Result<size_t> NumEntries(std::span<const pmix_info_t> directives,
                          const pmix_server_module_t* module) {
  const pmix_info_t* given = FindInfo(directives, CANOPY_SERVER_MODULE_ENTRIES);
  if (given != nullptr) return Checked(Uint64Of(given->value));
  const char* const variable = std::getenv(kVariable);
  if (variable != nullptr) return Checked(ParseNumber(variable));
  return Found(module);
}

canopy_server_module_t CopyModule(const pmix_server_module_t* module,
                                  size_t entries) {
  canopy_server_module_t copy = {};
  if (module != nullptr) CopyWords(module, entries, &copy);
  return copy;
}

}  // namespace canopy::library
