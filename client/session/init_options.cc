#include "client/session/init_options.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "client/session/directives.h"
#include "common/support/ignored_directives.h"

namespace canopy::client {
namespace {

constexpr std::string_view kModelKeys[] = {
    PMIX_PROGRAMMING_MODEL,     PMIX_MODEL_LIBRARY_NAME,
    PMIX_MODEL_LIBRARY_VERSION, PMIX_THREADING_MODEL,
    PMIX_MODEL_NUM_THREADS,     PMIX_MODEL_NUM_CPUS,
    PMIX_MODEL_CPU_TYPE,        PMIX_MODEL_AFFINITY_POLICY,
};

bool DescribesModel(std::string_view key) {
  return std::find(std::begin(kModelKeys), std::end(kModelKeys), key) !=
         std::end(kModelKeys);
}

}  // namespace

int ParseInitOptions(std::string_view function, const pmix_info_t* info,
                     size_t ninfo, InitOptions* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ninfo; ++i) {
    const std::string_view key = KeyOf(info[i]);
    if (key == PMIX_EXTERNAL_PROGRESS) {
      out->external_progress = IsTrue(info[i]);
    } else if (key == PMIX_DEBUG_STOP_IN_INIT) {
      out->stops = IsTrue(info[i]);
    } else if (DescribesModel(key)) {
      out->model.Append(info[i]);
    } else {
      const int rc = support::NotHonoured(function, info[i]);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

int ParseFinalizeOptions(const pmix_info_t* info, size_t ninfo, bool* barrier) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  *barrier = false;
  for (size_t i = 0; i < ninfo; ++i) {
    if (KeyOf(info[i]) == PMIX_EMBED_BARRIER) {
      *barrier = IsTrue(info[i]);
    } else {
      const int rc = support::NotHonoured("PMIx_Finalize", info[i]);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
