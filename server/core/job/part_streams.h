// The streams of a job's ranks at one agent: their output to the agent that
// controls the job, and its input to them.
#ifndef CANOPY_SERVER_CORE_JOB_PART_STREAMS_H_
#define CANOPY_SERVER_CORE_JOB_PART_STREAMS_H_

#include <vector>

#include "common/ids.h"
#include "server/core/job/local_ranks.h"
#include "server/core/job/place.h"
#include "server/core/job/step.h"
#include "server/core/job/stream_flow.h"
#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_inputs.h"

namespace canopy::core {

// What the controller decides about streams is JobStreams'. Not synchronised.
class PartStreams {
 public:
  // Both outlive it. With `persists`, a successor is left the records that it
  // needs.
  PartStreams(const JobPlace& place, const LocalRanks& local, bool persists)
      : place_(place), local_(local), persists_(persists) {}

  // Not at the controller: its own goes to JobHead.
  void SendOutput(const JobStep& step, const LocalOutput& in) const;
  void OnOutputCredit(const JobStep& step, const OutputCredit& m) const;
  void OnInput(const JobStep& step, const InputData& m);
  void OnInputTaken(const JobStep& step, const LocalInputDone& in);
  // The same as the agent that controls the job counts it.
  InputCredit CreditOf(const LocalInputDone& in) const;

  // Processes may run: input is requested from now on.
  void Start() { started_ = true; }
  // Input in flight to this node may be lost.
  void RequestInput(const JobStep& step) const;
  // What a predecessor has recorded. How much its ranks have is not known until
  // the shim reports it.
  void Recover(const std::vector<PersistedRecord>& records);

 private:
  bool TakesInput() const;

  const JobPlace& place_;
  const LocalRanks& local_;
  const bool persists_;
  bool started_ = false;
  InputOrder input_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PART_STREAMS_H_
