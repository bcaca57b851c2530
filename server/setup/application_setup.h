// The data that PMIx_server_setup_application collects on the node where a job
// is started (PMIx Standard, chapter "Server-Specific Interfaces").
#ifndef CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_
#define CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_types.h"

namespace canopy::setup {

// With PMIX_SETUP_APP_ENVARS or PMIX_SETUP_APP_ALL, returns each variable of
// `environment` (NAME=VALUE, terminated by a null pointer) that programming
// models and their transports read, as a PMIX_SET_ENVAR. A known
// PMIX_PROGRAMMING_MODEL restricts them to the variables of that model.
// Variables of a job to which this process may belong are omitted. With
// PMIX_ENVARS_HARVESTED, no variables are returned. PMIX_SETUP_APP_NONENVARS
// adds nothing.
//
// Returns kErrTypeMismatch for a directive of another type, and
// kErrNotSupported for resources of fabrics (PMIX_ALLOC_FABRIC and related
// keys), which are not managed here, and for unknown directives that are
// required. Unknown directives that are optional are reported.
Result<InfoList> SetUpApplication(std::span<const pmix_info_t> directives,
                                  const char* const* environment);

}  // namespace canopy::setup

#endif  // CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_
