// Computes how many bytes of a job's output its shim may report.
#ifndef CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
#define CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_

#include <cstdint>

#include "server/core/step/process_actions.h"

namespace canopy::process {

// Credit is a total from the start of the job, so that credit repeated after a
// change of agents counts once. Used by one thread.
class OutputCredit {
 public:
  // Called after the recovery of a shim. No credit is granted before the shim's
  // position is known.
  void ForgetPosition() { position_known_ = false; }
  // Sets the position from which the shim counts, in bytes.
  void SetPosition(uint64_t acknowledged);
  void Add(const core::CreditOutput& credit);
  // Returns the bytes to grant to the shim, and counts them as granted.
  uint64_t Take();

 private:
  uint64_t granted_ = 0;  // bytes granted to the shim
  uint64_t total_ = 0;
  uint64_t early_ = 0;  // credit added before the position was known
  bool position_known_ = true;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
