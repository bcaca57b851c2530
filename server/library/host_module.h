// The functions of a host in C, as many as its module has.
#ifndef CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
#define CANOPY_SERVER_LIBRARY_HOST_MODULE_H_

#include <cstddef>
#include <span>

#include "common/status.h"
#include "pmix_server.h"

namespace canopy::library {

// What a module has: in the headers of release 2, in those of 4.2.2, which are
// assumed where a host says nothing, and in the newest.
inline constexpr size_t kFewestEntries = 21;
inline constexpr size_t kUsualEntries = 28;
inline constexpr size_t kMostEntries =
    sizeof(canopy_server_module_t) / sizeof(pmix_server_fencenb_fn_t);

// How many entries the host's module has, by the directive
// CANOPY_SERVER_MODULE_ENTRIES. kErrBadParam when that is not possible.
Result<size_t> NumEntries(std::span<const pmix_info_t> directives);

// Copies that many entries and reads nothing beyond them; the others are null.
// `module` may be null: all are.
canopy_server_module_t CopyModule(const pmix_server_module_t* module,
                                  size_t entries);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
