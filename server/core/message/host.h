// Messages between agents about what processes ask of the host. Plain values,
// see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_HOST_H_
#define CANOPY_SERVER_CORE_MESSAGE_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/ids.h"

namespace canopy::core {

// From the agent of who asks to the one that decides, which executes it once
// however often it comes: the process and the number of its request are its
// identity. Answered by HostReply.
struct HostRequest {
  ProcId proc;           // who asks
  uint64_t request = 0;  // its own number
  HostOp op = HostOp::kJobControl;
  uint32_t uid = 0;  // of its job
  uint32_t gid = 0;
  std::string nspace;           // of the job that is meant; empty: none
  std::vector<ProcId> targets;  // of that job; empty: all its processes
  Bytes call;                   // what it asks, as in HostCallArrived
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
