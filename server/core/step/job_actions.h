// The life of a job on this node: registration and the data that its processes
// may see.
#ifndef CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// The job exists from here on: make its segment, register its local ranks
// with the local endpoints. Comes before PrepareLocal.
struct RegisterJob {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
};

// Releases its segment and registrations.
struct DropJob {
  std::string nspace;
};

// What local processes may see of a rank from here on: all KVALs visible on
// this node, and the names of those that exist outside this node's scope; or
// only the changes since the last publication.
struct PublishRank {
  ProcId proc;
  Bytes visible;                     // codec-form KVALs, keys unique
  std::vector<std::string> outside;  // keys that answer EXISTS_OUTSIDE_SCOPE
  bool only_changes = false;
  // The committing client, which the executor answers. 0: no answer wanted.
  ClientId client = 0;
  RequestId request = 0;
};

// A process of the rank had so many others before it: PMIX_REINCARNATION.
struct SetIncarnation {
  ProcId proc;
  uint32_t incarnation = 0;
};

// A debugger holds processes of the job, on any node, or none any more: limits
// that were set for it stand still meanwhile. The job need not be known here.
struct JobHeld {
  std::string nspace;
  bool held = false;
};

// A request waits for a commit of a local rank (kRankUndef: any of the
// namespace here): report what has been committed, and the next commit as soon
// as it happens.
struct AwaitCommit {
  ProcId proc;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_
