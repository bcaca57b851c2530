// The functions of a host in C, as many as its module has.
#ifndef CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
#define CANOPY_SERVER_LIBRARY_HOST_MODULE_H_

#include <cstddef>
#include <span>

#include "common/status.h"
#include "pmix_server.h"

namespace canopy::library {

// What a module has: in the headers of release 2, in those of 4.2.2, which is
// the most that is assumed where neither the host nor its file says it, and in
// the newest.
inline constexpr size_t kFewestEntries = 21;
inline constexpr size_t kUsualEntries = 28;
inline constexpr size_t kMostEntries =
    sizeof(canopy_server_module_t) / sizeof(pmix_server_fencenb_fn_t);

// How many entries the host's module has: by the directive
// CANOPY_SERVER_MODULE_ENTRIES, by the variable of the environment with the
// same name, or by what can be found out about `module` (module_size.h), which
// may be null. Reads nothing beyond the variable in which the module is.
// kErrBadParam: the number that is given is not possible.
Result<size_t> NumEntries(std::span<const pmix_info_t> directives,
                          const pmix_server_module_t* module);

// Copies that many entries and reads nothing beyond them; the others are null.
// `module` may be null: all are.
canopy_server_module_t CopyModule(const pmix_server_module_t* module,
                                  size_t entries);

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_MODULE_H_
