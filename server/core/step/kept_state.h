// What an agent keeps for the next one of its node, and what the next one takes
// over.
#ifndef CANOPY_SERVER_CORE_STEP_KEPT_STATE_H_
#define CANOPY_SERVER_CORE_STEP_KEPT_STATE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/job.h"
#include "server/core/step/job_actions.h"

namespace canopy::core {

// Keep for the next agent of this node, for as long as the job is not
// forgotten; a later value of a key replaces the earlier one.
struct Remember {
  std::string nspace;
  std::string key;
  Bytes value;
};

// The same for the agent that controls a job, with or without a process of it;
// replaces what was kept before.
struct RememberControl {
  std::string nspace;
  Bytes state;
};

// Something that Remember kept.
struct KeptRecord {
  std::string key;
  Bytes value;
};

// What a former agent of this node knew of a job, by the job's shim or because
// it controlled the job. Comes before anything else that concerns it.
struct JobRecovered {
  std::shared_ptr<const JobSpec> job;
  bool started = false;             // here; else it was prepared only
  std::vector<KeptRecord> records;  // oldest first
  // What was published of ranks of other nodes.
  std::vector<PublishRank> published;
  bool has_shim = true;  // else no process of it is here
  // What RememberControl kept: this agent goes on controlling the job. Empty:
  // it was about to launch it.
  std::optional<Bytes> control = std::nullopt;
  bool over = false;  // its end was reported: forget what is left of it
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_KEPT_STATE_H_
