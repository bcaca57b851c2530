// How much of a job's output its shim may report.
#ifndef CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
#define CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_

#include <cstdint>

#include "server/core/step/process_actions.h"

namespace canopy::process {

// Credit counts from the start of the job, so that what is given twice around a
// change of agents counts once. One thread.
class OutputCredit {
 public:
  // Of a shim found again: nothing is due before it said what it counts from.
  void ForgetPosition() { position_known_ = false; }
  // The shim counts from here.
  void SetPosition(uint64_t acknowledged);
  void Add(const core::CreditOutput& credit);
  // Bytes that the shim is to be granted; they are. 0: none.
  uint64_t Take();

 private:
  uint64_t granted_ = 0;  // as the shim has it or is about to
  uint64_t total_ = 0;
  uint64_t early_ = 0;  // given before the position was known
  bool position_known_ = true;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
