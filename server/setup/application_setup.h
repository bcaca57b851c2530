// What PMIx_server_setup_application collects where a job is started (PMIx
// Standard, chapter "Server-Specific Interfaces").
#ifndef CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_
#define CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_

#include <span>

#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_types.h"

namespace canopy::setup {

// PMIX_SETUP_APP_ENVARS or PMIX_SETUP_APP_ALL: each variable of `environment`
// (NAME=VALUE, ended by a null pointer) that programming models and their
// transports read, as a PMIX_SET_ENVAR; of PMIX_PROGRAMMING_MODEL, where that
// is a known one, those of that model. Variables of the job that this process
// may be part of are left out, and so are all after PMIX_ENVARS_HARVESTED.
// PMIX_SETUP_APP_NONENVARS: there is nothing else to be told of a job.
//
// kErrTypeMismatch: a directive of another type; kErrNotSupported: resources of
// fabrics (PMIX_ALLOC_FABRIC and its kind), which nobody here hands out, and
// directives that are required and not known.
Result<InfoList> SetUpApplication(std::span<const pmix_info_t> directives,
                                  const char* const* environment);

}  // namespace canopy::setup

#endif  // CANOPY_SERVER_SETUP_APPLICATION_SETUP_H_
