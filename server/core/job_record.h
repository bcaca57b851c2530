// What the agent that controls a job keeps of it for the next agent of its
// node. The rest the other agents say again.
#ifndef CANOPY_SERVER_CORE_JOB_RECORD_H_
#define CANOPY_SERVER_CORE_JOB_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "server/core/job_control.h"
#include "server/core/step/clock.h"

namespace canopy::core {

struct HeadRecord {
  bool started = false;  // agents may have been told to start their ranks
  bool ending = false;   // and to end them
  uint32_t kill_requests = 0;
  TimeNs since = 0;  // as in JobHead
  TimeNs timeout = kNever;
  bool out_of_time = false;
  std::optional<JobFailure> failure;
  std::vector<Rank> expected;  // whose end is wished for
  std::vector<NodeId> lost;    // with their ranks
};

std::string EncodeHeadRecord(const HeadRecord& record);
// Nothing for what EncodeHeadRecord does not write.
std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RECORD_H_
