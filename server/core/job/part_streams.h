// The streams of a job's ranks at one agent: forwards their output to the agent
// that controls the job, and the job's input to them.
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
  // `place` and `local` outlive this object. With `persists`, this object
  // persists the records that a successor needs.
  PartStreams(const JobPlace& place, const LocalRanks& local, bool persists)
      : place_(place), local_(local), persists_(persists) {}

  // Sends output to the controller. Not called at the controller, whose own
  // output is passed to JobHead.
  void SendOutput(const JobStep& step, const LocalOutput& in) const;
  void OnOutputCredit(const JobStep& step, const OutputCredit& m) const;
  void OnInput(const JobStep& step, const InputData& m);
  void OnInputTaken(const JobStep& step, const LocalInputDone& in);
  // Returns the credit for consumed input, with the position of the local ranks
  // converted into that of the controller.
  InputCredit CreditOf(const LocalInputDone& in) const;

  // Called when processes may run: input is requested from now on.
  void Start() { started_ = true; }
  // Requests input again, because input in flight to this node may be lost.
  void RequestInput(const JobStep& step) const;
  // Restores a predecessor's records. How much input the ranks have consumed is
  // unknown until the shim reports it.
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
