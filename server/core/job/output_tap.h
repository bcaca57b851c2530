// The interface through which readers other than the launcher receive a job's
// output, and through which they learn how much pushed input was consumed.
#ifndef CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_
#define CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Output as it arrives at the agent that controls the job, without gaps or
// repetitions.
struct TappedOutput {
  const std::string& nspace;
  uint32_t node = 0;  // job-relative node that wrote the output
  // Number of bytes that the job has written on the node, including this
  // output; 0: unknown, unless `data` is empty.
  uint64_t end = 0;
  Rank rank = 0;
  uint16_t channel = 0;
  const Bytes& data;  // empty: the channel is closed
};

// Implemented by Forwarding. The job engine calls both functions during its
// steps, on its own thread.
class OutputTap {
 public:
  virtual ~OutputTap() = default;
  // Returns true if another reader gets the output instead of the launcher.
  virtual bool OnOutput(const StepContext& step,
                        const TappedOutput& output) = 0;
  // Called when all ranks of a job with pushed input have consumed `bytes` more
  // bytes.
  virtual void OnInputTaken(const StepContext& step, const std::string& nspace,
                            uint64_t bytes) = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_OUTPUT_TAP_H_
