// The functions of a host in C, limited to the entries of its module.
#ifndef CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
#define CANOPY_SERVER_LIBRARY_HOST_MODULE_H_

#include <cstddef>
#include <span>

#include "common/status.h"
#include "pmix_server.h"

namespace canopy::library {

// Numbers of entries of a module. kFewestEntries is the number in the headers
// of OpenPMIx 2, kUsualEntries that of OpenPMIx 4.2.2, and kMostEntries that of
// the newest headers. kUsualEntries is also the largest number that is assumed
// if neither the host nor its file states the number.
inline constexpr size_t kFewestEntries = 21;
inline constexpr size_t kUsualEntries = 28;
inline constexpr size_t kMostEntries =
    sizeof(canopy_server_module_t) / sizeof(pmix_server_fencenb_fn_t);

// Returns the number of entries in the host's module: from the directive
// CANOPY_SERVER_MODULE_ENTRIES, from the environment variable of that name, or
// from an inspection of `module` (module_size.h), which may be null. Does not
// read beyond the C variable that contains the module. Fails with kErrBadParam
// if the given number is impossible.
Result<size_t> NumEntries(std::span<const pmix_info_t> directives,
                          const pmix_server_module_t* module);

// Copies `entries` entries and reads nothing beyond them; all other entries of
// the result are null. If `module` is null, all entries are null.
canopy_server_module_t CopyModule(const pmix_server_module_t* module,
                                  size_t entries);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
