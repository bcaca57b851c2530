// Output and input of a job, at the agent that controls it: handed out once and
// in order, with credit to the nodes that it comes from.
#ifndef CANOPY_SERVER_CORE_JOB_STREAMS_H_
#define CANOPY_SERVER_CORE_JOB_STREAMS_H_

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/job/input_log.h"
#include "server/core/job/part.h"
#include "server/core/job/progress.h"
#include "server/core/job/step.h"
#include "server/core/job/stream_flow.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_inputs.h"

namespace canopy::core {

class JobStreams {
 public:
  // `part`, the controller's, and `progress` outlive it.
  JobStreams(JobPart& part, const JobProgress& progress);

  // The launcher acknowledges output: AllDelivered waits for that.
  void set_acknowledges(bool acknowledges) { acknowledges_ = acknowledges; }
  // In a successor: output is held back until the launcher has reattached, and
  // what it has had of the input is unknown. Input that is pushed begins a run.
  void AwaitLauncher(TimeNs now);
  void OnLauncherReattached(const JobStep& step, const LauncherReattached& in);
  // Credit in flight to the node, or through it, may be lost.
  void OnNodeRestarted(const JobStep& step, NodeId node);

  // Output, from whichever node. True: a stream was closed.
  bool OnOutput(const JobStep& step, const OutputData& output);
  // Gives the rank's node its credit. True: it may have been the last output.
  bool OnConsumed(const JobStep& step, const OutputConsumed& in);
  // No output comes from the rank any more. False: none was awaited.
  bool CloseAll(Rank rank) { return output_.CloseAll(rank); }
  // After the ends of all ranks: whether their output is delivered, too.
  bool AllDelivered(const JobStep& step);
  std::vector<Rank> OpenRanks() const { return output_.OpenRanks(); }
  // When a silent stream counts as held open by something that a process left
  // behind; kNever: not yet.
  TimeNs drain_deadline() const { return drain_; }
  // That time has come. True: no more output is waited for.
  bool OnDrainTimeout(const JobStep& step);

  void OfferInput(const InputOffered& in) {
    input_log_.Add(in.position, in.data);
  }
  // Sends the ranks what was offered, and reports what all have taken.
  void SendInput(const JobStep& step);
  // Of the ranks of a node (job-relative).
  void OnInputTaken(const JobStep& step, uint32_t node, const InputCredit& in);

 private:
  NodeId AgentOf(uint32_t node) const;
  void Deliver(const JobStep& step, const OutputData& output, Bytes data) const;
  void ResendCredit(const JobStep& step, uint32_t node) const;
  void SendPiece(const JobStep& step, const InputLog::Piece& piece);
  void ResendInput(const JobStep& step, uint32_t node, uint64_t from) const;
  void ReportTaken(const JobStep& step, uint64_t bytes);

  JobPart& part_;
  const JobProgress& progress_;
  OutputFlow output_;
  InputFlow input_;
  InputLog input_log_;
  uint64_t run_ = 0;  // as in InputData
  TimeNs drain_ = kNever;
  bool acknowledges_ = false;
  bool asked_ = false;     // for an acknowledgement
  bool detached_ = false;  // the launcher is not attached (yet)
  bool discards_ = false;  // and will not reattach
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STREAMS_H_
