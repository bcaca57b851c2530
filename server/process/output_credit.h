// Computes how many bytes of a job's output its shim may report, and detects
// reports beyond that.
#ifndef CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
#define CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "server/core/step/process_actions.h"

namespace canopy::process {

// Credit is a total from the start of the job, so that credit repeated after a
// change of agents counts once. Used by one thread.
class OutputCredit {
 public:
  // `window` is the limit, in bytes, of output without credit.
  explicit OutputCredit(uint64_t window) : window_(window) {}

  // Called after the recovery of a shim. No credit is granted before the shim's
  // position is known.
  void ForgetPosition() { position_known_ = false; }
  // Sets the position from which the shim counts, in bytes.
  void SetPosition(uint64_t acknowledged);
  void Add(const core::CreditOutput& credit);
  // Returns the bytes to grant to the shim, and counts them as granted.
  uint64_t Take();

  // Allows `streams` further reports of the end of a stream.
  void AllowEnds(size_t streams) { ends_left_ += streams; }
  // Records a report of the output between two positions; an empty report is
  // the end of a stream. Returns false if the shim may not have sent it. The
  // agents on the output's way rely on the window, and each report costs them
  // the same, however small it is.
  bool OnReport(uint64_t begin, uint64_t end);

 private:
  void DropGranted();

  const uint64_t window_;
  uint64_t granted_ = 0;  // bytes granted to the shim
  uint64_t total_ = 0;
  uint64_t early_ = 0;  // credit added before the position was known
  bool position_known_ = true;
  std::deque<uint64_t> chunks_;  // the ends of reports without credit
  size_t ends_left_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_OUTPUT_CREDIT_H_
