// What the agent that controls a job persists for a successor. The other agents
// resend the rest during resynchronisation.
#ifndef CANOPY_SERVER_CORE_JOB_RECORD_H_
#define CANOPY_SERVER_CORE_JOB_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "server/core/job_progress.h"
#include "server/core/step/clock.h"

namespace canopy::core {

struct HeadRecord {
  bool started = false;  // the start may have been sent
  bool ending = false;   // and the kill
  uint32_t kill_requests = 0;
  TimeNs since = 0;  // as in JobHead
  TimeNs timeout = kNever;
  bool out_of_time = false;
  std::optional<JobFailure> failure;
  std::vector<Rank> expected;  // whose end was requested
  std::vector<NodeId> lost;    // with their ranks
};

std::string EncodeHeadRecord(const HeadRecord& record);
// Nothing for what EncodeHeadRecord does not write.
std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RECORD_H_
