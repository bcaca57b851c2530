// The directives of PMIx_Init and PMIx_Finalize.
#ifndef CANOPY_CLIENT_SESSION_INIT_OPTIONS_H_
#define CANOPY_CLIENT_SESSION_INIT_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

struct InitOptions {
  std::optional<bool> external_progress;  // PMIX_EXTERNAL_PROGRESS
  bool stops = false;                     // PMIX_DEBUG_STOP_IN_INIT
  // PMIX_PROGRAMMING_MODEL and its description; empty if none was declared.
  InfoList model;
};

// Reads the directives of `function`, which initialises the library. Returns a
// PMIx status: PMIX_ERR_BAD_PARAM for a null array, PMIX_ERR_NOT_SUPPORTED for
// a required directive that is not honoured.
int ParseInitOptions(std::string_view function, const pmix_info_t* info,
                     size_t ninfo, InitOptions* out);

// Reads the directives of PMIx_Finalize; *barrier is PMIX_EMBED_BARRIER. Fails
// like ParseInitOptions.
int ParseFinalizeOptions(const pmix_info_t* info, size_t ninfo, bool* barrier);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_INIT_OPTIONS_H_
