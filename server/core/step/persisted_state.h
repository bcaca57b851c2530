// State that an agent persists for its successor, and that the successor
// recovers.
#ifndef CANOPY_SERVER_CORE_STEP_PERSISTED_STATE_H_
#define CANOPY_SERVER_CORE_STEP_PERSISTED_STATE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/job_actions.h"

namespace canopy::core {

// Requests that the record be persisted for a successor until the job is
// released. A later value of a key replaces the earlier one.
struct PersistRecord {
  std::string nspace;
  std::string key;
  Bytes value;
};

// Requests that the agent that controls a job persist the state, even if no
// process of the job is on its node. The state replaces the earlier one.
struct PersistControlState {
  std::string nspace;
  Bytes state;
};

// A record of PersistRecord.
struct PersistedRecord {
  std::string key;
  Bytes value;
};

// A predecessor's state of a job, recovered from the job's shim or, for a
// controlled job, from its file. Precedes any other input about the job.
struct JobRecovered {
  std::shared_ptr<const JobSpec> job;
  // true if the local ranks were started; otherwise they were only prepared
  bool started = false;
  std::vector<PersistedRecord> records;  // oldest first
  // The published data of ranks of other nodes.
  std::vector<PublishRank> published;
  bool has_shim = true;  // false: no process of the job is on the node
  // The state of PersistControlState, if this agent controls the job. Empty:
  // the job was about to be launched.
  std::optional<Bytes> control = std::nullopt;
  // true if the job's end was reported, so that its resources must be released
  bool over = false;
  // The local ranks that were restarted, each with the number of processes that
  // it had before the present one.
  std::vector<std::pair<Rank, uint32_t>> incarnations = {};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PERSISTED_STATE_H_
