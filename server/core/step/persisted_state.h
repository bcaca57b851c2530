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

// Persist for a successor until the job is released; a later value of a key
// replaces the earlier one.
struct PersistRecord {
  std::string nspace;
  std::string key;
  Bytes value;
};

// The same at the agent that controls a job, with or without a process of it;
// replaces the earlier value.
struct PersistControlState {
  std::string nspace;
  Bytes state;
};

// A record of PersistRecord.
struct PersistedRecord {
  std::string key;
  Bytes value;
};

// What a predecessor knew of a job, recovered from the job's shim or, for a
// controlled job, from its file. Precedes any other input about it.
struct JobRecovered {
  std::shared_ptr<const JobSpec> job;
  bool started = false;                  // here; else it was prepared only
  std::vector<PersistedRecord> records;  // oldest first
  // What had been published of ranks of other nodes.
  std::vector<PublishRank> published;
  bool has_shim = true;  // else no process of it is here
  // The state of PersistControlState: this agent controls the job. Empty: it
  // was about to be launched.
  std::optional<Bytes> control = std::nullopt;
  bool over = false;  // its end was reported: release what is left of it
  // Of local ranks that had processes before the present one, how many.
  std::vector<std::pair<Rank, uint32_t>> incarnations = {};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PERSISTED_STATE_H_
