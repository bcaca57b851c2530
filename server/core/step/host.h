// What processes ask of the host, on its way to the part of the agent that
// decides, and the answer.
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

// Input: PMIx_Job_control and the other calls of HostOp. The reply's payload:
// codec form, SIZE n, then n INFO, the results; or empty.
struct HostCallArrived {
  ClientId client = 0;
  RequestId request = 0;
  HostOp op = HostOp::kJobControl;
  std::vector<ProcId> targets;  // empty: the caller's namespace
  // kJobControl: codec form, SIZE n, then n INFO. What it is of the others,
  // common/local_protocol.h says.
  Bytes call;
};

// AskHost::uid and gid of a tool: it is of the agent's own user.
inline constexpr uint32_t kAgentsUser = UINT32_MAX;

// Action: the host is to decide; answered by HostAnswered.
struct AskHost {
  uint64_t number = 0;  // of this action; a successor has others
  HostOp op = HostOp::kJobControl;
  ProcId source;         // who asks
  uint64_t request = 0;  // its own number: the same when it asks again
  uint32_t uid = 0;      // of its job
  uint32_t gid = 0;
  std::vector<ProcId> targets;  // as in HostCallArrived
  // As in HostCallArrived. Of kQuery WireWriter's: the number of keys, the
  // keys, and the qualifiers in codec form (SIZE n, n INFO).
  Bytes call;
  std::string host_job = {};  // JobSpec::host_job of its job
};

// Input.
struct HostAnswered {
  uint64_t number = 0;  // of AskHost
  int status = 0;
  Bytes results;  // codec form: SIZE n, then n INFO; or empty
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_HOST_H_
