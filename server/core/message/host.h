// Messages between agents about requests of processes to the host. They are
// plain values; see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_HOST_H_
#define CANOPY_SERVER_CORE_MESSAGE_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/ids.h"

namespace canopy::core {

// Sent by the agent of the requesting process to the agent that decides. The
// process and the number of its request identify the request, so that it is
// executed once even if the message arrives several times. The answer is
// HostReply.
struct HostRequest {
  ProcId proc;           // the requesting process
  uint64_t request = 0;  // numbered by the process
  HostOp op = HostOp::kJobControl;
  uint32_t uid = 0;  // user of the process's job
  uint32_t gid = 0;
  std::string nspace;           // the target job; empty: none
  std::vector<ProcId> targets;  // ranks of that job; empty: all its processes
  Bytes call;                   // as in HostCallArrived
};

struct HostReply {
  ProcId proc;           // as in HostRequest
  uint64_t request = 0;  // as in HostRequest
  std::string nspace;    // as in HostRequest
  int status = 0;
  Bytes results;  // codec form: SIZE n, then n INFO; or empty
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_HOST_H_
