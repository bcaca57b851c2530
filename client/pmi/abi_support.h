// Helpers that the C functions of PMI-1 and PMI-2 share. Both have the same
// error codes, which the compiler checks here; PMI-1's names are used for both.
#ifndef CANOPY_CLIENT_PMI_ABI_SUPPORT_H_
#define CANOPY_CLIENT_PMI_ABI_SUPPORT_H_

#include <cstring>
#include <optional>
#include <string_view>

#include "client/pmi/process.h"
#include "pmi.h"
#include "pmi2.h"
#include "pmix.h"

namespace canopy::pmi {

static_assert(PMI2_SUCCESS == PMI_SUCCESS && PMI2_FAIL == PMI_FAIL &&
              PMI2_ERR_INIT == PMI_ERR_INIT &&
              PMI2_ERR_NOMEM == PMI_ERR_NOMEM &&
              PMI2_ERR_INVALID_ARG == PMI_ERR_INVALID_ARG &&
              PMI2_ERR_INVALID_KEY == PMI_ERR_INVALID_KEY &&
              PMI2_ERR_INVALID_LENGTH == PMI_ERR_INVALID_LENGTH);

// MPI libraries request this key of every job; PMIx has it under another name.
inline constexpr std::string_view kProcessMapping = "PMI_process_mapping";

// Returns the error code of PMI for a PMIx status.
inline int CodeOf(pmix_status_t status) {
  switch (status) {
    case PMIX_SUCCESS:
      return PMI_SUCCESS;
    case PMIX_ERR_INIT:
      return PMI_ERR_INIT;
    case PMIX_ERR_NOMEM:
    case PMIX_ERR_OUT_OF_RESOURCE:
      return PMI_ERR_NOMEM;
    default:
      return PMI_FAIL;
  }
}

// Calls `body` with the process if it has been initialized.
template <typename Body>
int WithProcess(Body body) {
  const std::optional<Process> process = CurrentProcess();
  return process ? body(*process) : PMI_ERR_INIT;
}

// Sets *out to body(process).
template <typename Body>
int ReturnNumber(int* out, Body body) {
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    *out = static_cast<int>(body(process));
    return PMI_SUCCESS;
  });
}

// Sets *out to `length`.
inline int ReturnLength(int* out, size_t length) {
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  *out = static_cast<int>(length);
  return PMI_SUCCESS;
}

// Copies into `length` characters, including the terminating NUL. Returns
// `too_long` if the text does not fit.
inline int CopyText(std::string_view text, char* out, int length,
                    int too_long) {
  if (length < 0 || text.size() >= static_cast<size_t>(length)) return too_long;
  memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return PMI_SUCCESS;
}

// Copies the name of the process's job, with the terminator, if it fits into
// `length` characters.
inline int CopyJobName(char* out, int length) {
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    return CopyText(process.self.nspace, out, length, PMI_ERR_INVALID_LENGTH);
  });
}

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_ABI_SUPPORT_H_
