// Requests of processes to the host: the calls, the requests to the component
// of the agent that decides about the calls, and the replies.
#ifndef CANOPY_SERVER_CORE_STEP_HOST_H_
#define CANOPY_SERVER_CORE_STEP_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Input: a call of PMIx_Job_control or another operation of HostOp. The reply's
// payload has the results in codec form (SIZE n, then n INFO), or is empty.
struct HostCallArrived {
  ClientId client = 0;
  RequestId request = 0;
  HostOp op = HostOp::kJobControl;
  std::vector<ProcId> targets;  // empty: the caller's namespace
  Bytes call;                   // the call of `op`, see common/host_call.h
};

// AskHost::uid and gid of a tool of the agent's own user.
inline constexpr uint32_t kAgentsUser = UINT32_MAX;

// Action: requests a decision of the host. The answer is HostAnswered.
struct AskHost {
  // identifies this action; a successor uses other numbers
  uint64_t number = 0;
  HostOp op = HostOp::kJobControl;
  ProcId source;  // the process that makes the request
  // numbered by the process; a repetition of the request has the same number
  uint64_t request = 0;
  uint32_t uid = 0;  // user of the process's job
  uint32_t gid = 0;
  std::vector<ProcId> targets;  // as in HostCallArrived
  Bytes call;                   // as in HostCallArrived
  std::string host_job = {};    // JobSpec::host_job of the process's job
};

// Input: the answer to AskHost.
struct HostAnswered {
  uint64_t number = 0;  // number of the AskHost
  int status = 0;
  Bytes results;  // codec form: SIZE n, then n INFO; or empty
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_HOST_H_
