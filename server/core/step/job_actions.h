// The life of a job on this node: its registration, and the data that its
// processes may see.
#ifndef CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Announces a new job: requests that its segment be created and its local ranks
// be registered with the local endpoints. Precedes PrepareLocal.
struct RegisterJob {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
};

// Releases the job's segment and registrations.
struct DropJob {
  std::string nspace;
};

// Publishes the data of a rank to local processes. The data consists of the
// KVALs that are visible on this node, and of the names of the keys that only
// other nodes see. With `only_changes`, it contains only the changes since the
// last publication.
struct PublishRank {
  ProcId proc;
  Bytes visible;  // KVALs in codec form; keys are unique
  // keys whose get returns EXISTS_OUTSIDE_SCOPE
  std::vector<std::string> outside;
  bool only_changes = false;
  // The committing client, to which the executor of this action replies. 0: no
  // reply is needed.
  ClientId client = 0;
  RequestId request = 0;
  // The version of the data of a rank of another node (ModexStore), which a
  // successor of this agent recovers with the data. 0: unknown.
  uint64_t version = 0;
};

// Sets the number of processes that the rank had before the present one
// (PMIX_REINCARNATION).
struct SetIncarnation {
  ProcId proc;
  uint32_t incarnation = 0;
};

// Reports that a debugger holds processes of the job, on any node, or no longer
// holds any. While a debugger holds them, the job's time limits stand still.
// The job need not be known to this agent.
struct JobHeld {
  std::string nspace;
  bool held = false;
};

// Reports that a request waits for a commit of a local rank (kRankUndef: of any
// local rank of the namespace). The adapter must report the commits so far, and
// the next commit as soon as it happens.
struct AwaitCommit {
  ProcId proc;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_JOB_ACTIONS_H_
