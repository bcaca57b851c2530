// The streams of a job's ranks at one agent: forwards their output to the agent
// that controls the job, and its input to them.
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

// JobStreams makes the decisions of the controller about streams. Not
// synchronised.
class PartStreams {
 public:
  // `place` and `local` outlive this object. With `persists`, it persists the
  // records that a successor needs.
  PartStreams(const JobPlace& place, const LocalRanks& local, bool persists)
      : place_(place), local_(local), persists_(persists) {}

  // Not called at the controller, whose own output goes to JobHead.
  void SendOutput(const JobStep& step, const LocalOutput& in) const;
  void OnOutputCredit(const JobStep& step, const OutputCredit& m) const;
  void OnInput(const JobStep& step, const InputData& m);
  void OnInputTaken(const JobStep& step, const LocalInputDone& in);
  // Converts what the local ranks have taken into the controller's count.
  InputCredit CreditOf(const LocalInputDone& in) const;

  // Processes may run: input is requested from now on.
  void Start() { started_ = true; }
  // Input in flight to this node may be lost.
  void RequestInput(const JobStep& step) const;
  // Restores what a predecessor recorded. How much input its ranks have taken
  // is unknown until the shim reports it.
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
