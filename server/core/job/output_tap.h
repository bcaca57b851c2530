// Who else gets a job's output and gives its input, beside its launcher.
#ifndef CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_
#define CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Output as it arrives at the agent that controls the job: without gaps or
// repetitions.
struct TappedOutput {
  const std::string& nspace;
  uint32_t node = 0;  // job-relative, that it comes from
  // How much output the job has had on the node, this included; 0 with data:
  // not known.
  uint64_t end = 0;
  Rank rank = 0;
  uint16_t channel = 0;
  const Bytes& data;  // empty: the channel is closed
};

class OutputTap {
 public:
  virtual ~OutputTap() = default;
  // True: somebody has it instead of the launcher.
  virtual bool OnOutput(TimeNs now, const TappedOutput& output,
                        Actions* actions) = 0;
  // Of a job whose input is pushed: all who take it have taken so much more.
  virtual void OnInputTaken(const std::string& nspace, uint64_t bytes,
                            Actions* actions) = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_
