// Parses the directives of PMIx_Job_control.
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
  kTerminate,  // ends the targets, with a grace period
  kKill,
};

struct JobControl {
  ControlAction action = ControlAction::kNone;
  int signal = 0;                    // signal number of kSignal
  bool cleanup = false;              // registers files to be removed
  std::optional<std::string> pset;   // PMIX_JOB_CTRL_DEFINE_PSET
  std::string id;                    // PMIX_JOB_CTRL_ID
  std::vector<std::string> refused;  // directives that are not honoured
};

// Maximum number of directives of one call; more are refused
// (kErrOutOfResource).
inline constexpr size_t kMaxDirectives = 1024;

// Parses the directives of a call. `infos` is SIZE n and n INFO in codec form.
// Returns kErrBadParam for malformed directives, for two that exclude each
// other, and for a call without an action. Returns kErrNotSupported if a
// required directive is refused, or if all directives are refused, and
// kErrOutOfResource for more than kMaxDirectives.
int ParseJobControl(const Bytes& infos, JobControl* out);

// Returns the results of the call: the reason why each refused directive is
// refused, and the call's own identifier. They are SIZE n and n INFO in codec
// form, or empty.
Bytes ControlResults(const JobControl& control);

// Returns the action's name in messages: "signal 10", "kill", and so on.
std::string ActionName(const JobControl& control);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_JOB_CONTROL_H_
