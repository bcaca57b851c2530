// The output and input of a job at the agent that controls it. Bytes are passed
// on once and in order, and the nodes that sent them get credit. Used by one
// thread.
#ifndef CANOPY_SERVER_CORE_JOB_STREAMS_H_
#define CANOPY_SERVER_CORE_JOB_STREAMS_H_

#include <cstdint>
#include <set>
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
  // `part` (the controller's) and `progress` outlive this object.
  JobStreams(JobPart& part, const JobProgress& progress);

  // If the launcher acknowledges output, AllDelivered waits for its
  // acknowledgement.
  void set_acknowledges(bool acknowledges) { acknowledges_ = acknowledges; }
  // Called in a successor: output is held back until the launcher has
  // reattached, and the position of the input is unknown. Pushed input begins a
  // new input run.
  void AwaitLauncher(TimeNs now);
  void OnLauncherReattached(const JobStep& step, const LauncherReattached& in);
  // Called when the node's agent was restarted: credit in flight to the node,
  // or through it, may be lost.
  void OnNodeRestarted(const JobStep& step, NodeId node);
  // Called when a node was lost: a request for output that was to be forwarded
  // by it may be lost, too.
  void OnNodeLost(const JobStep& step) const;

  // Handles output of any node. Returns true if a stream was closed.
  bool OnOutput(const JobStep& step, const OutputData& output);
  // Gives credit to the rank's node. Returns true if this may have been the
  // last output.
  bool OnConsumed(const JobStep& step, const OutputConsumed& in);
  // Records that no more output comes from the rank. Returns false if no output
  // was awaited.
  bool CloseAll(Rank rank) { return output_.CloseAll(rank); }
  // Returns whether the output of all ranks is delivered. Call this after all
  // ranks have ended.
  bool AllDelivered(const JobStep& step);
  std::vector<Rank> OpenRanks() const { return output_.OpenRanks(); }
  // Returns when a silent stream counts as held open by a process left behind
  // by a rank; kNever if no stream is awaited.
  TimeNs drain_deadline() const { return drain_; }
  // Called when the drain deadline has passed. Returns true if no more output
  // is awaited.
  bool OnDrainTimeout(const JobStep& step);

  void OfferInput(const InputOffered& in) {
    input_log_.Add(in.position, in.data);
  }
  // Sends offered input to the ranks, and reports how much all ranks have
  // consumed.
  void SendInput(const JobStep& step);
  // Handles the report of `node` (job-relative) about the input that its ranks
  // have consumed.
  void OnInputTaken(const JobStep& step, uint32_t node, const InputCredit& in);

 private:
  NodeId AgentOf(uint32_t node) const;
  void Deliver(const JobStep& step, const OutputData& output, Bytes data) const;
  void RequestOutput(const JobStep& step, uint32_t node) const;
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
  bool asked_ = false;     // the launcher's acknowledgement was requested
  bool detached_ = false;  // no launcher is attached
  bool discards_ = false;  // the launcher will not reattach
  // Nodes (job-relative) from which output was requested and has not come.
  std::set<uint32_t> requested_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STREAMS_H_
