// What a call of PMIx_Job_control asks for.
#ifndef CANOPY_SERVER_CORE_HOST_JOB_CONTROL_H_
#define CANOPY_SERVER_CORE_HOST_JOB_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"

namespace canopy::core {

enum class ControlAction : uint8_t {
  kNone,
  kSignal,     // also pause and resume
  kTerminate,  // with time to end
  kKill,
};

struct JobControl {
  ControlAction action = ControlAction::kNone;
  int signal = 0;                    // of kSignal
  bool cleanup = false;              // registers what is to be removed
  std::optional<std::string> pset;   // PMIX_JOB_CTRL_DEFINE_PSET
  std::string id;                    // PMIX_JOB_CTRL_ID
  std::vector<std::string> refused;  // directives that nobody honours
};

// Directives of one call; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxDirectives = 1024;

// `infos` is SIZE n and n INFO in codec form. kErrBadParam for malformed ones,
// for two that exclude each other, and for a call that asks for nothing;
// kErrNotSupported when one is refused that is required, or nothing is left.
int ParseJobControl(const Bytes& infos, JobControl* out);

// Why each refused directive is, and the call's own identifier, as the results
// of the call: SIZE n and n INFO, or empty.
Bytes ControlResults(const JobControl& control);

// What it is called in messages: "signal 10", "kill", ...
std::string ActionName(const JobControl& control);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_JOB_CONTROL_H_
