// Messages between agents about committed data. They are plain values; see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_MODEX_H_
#define CANOPY_SERVER_CORE_MESSAGE_MODEX_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Direct modex: requests from a process's agent the data that the process has
// committed, for processes of one job or for a tool.
struct DmodexRequest {
  uint64_t request = 0;  // numbered by the requester
  ProcId target;
  std::string key;          // the answer waits for this key; empty: no wait
  uint32_t timeout_ms = 0;  // 0: as long as the target lives
  uint64_t known = 0;       // version of the data that the requester has
  std::string reader = {};  // namespace of the processes that ask
  uint32_t uid = 0;         // their user, valid if has_uid is true
  // False for a tool that may see the jobs of all users. The target's agent
  // checks the user against the job `reader`, if it knows this job.
  bool has_uid = false;
};

struct DmodexReply {
  uint64_t request = 0;
  int status = 0;
  ProcId target;
  Bytes data;            // committed with scope REMOTE or GLOBAL
  uint64_t version = 0;  // version of `data`, see ModexStore
  uint64_t base = 0;  // `data` has the changes since this version; 0: all data
};

// Reports that a rank of the sender's node was restarted. Sent to the other
// agents of its job, because their processes may get the rank's incarnation.
struct RankRestarted {
  std::string nspace;
  Rank rank = 0;
  uint32_t incarnation = 0;  // number of processes that the rank had before
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_MODEX_H_
