// PMIx_IOF_pull and PMIx_IOF_push: output of running jobs for whoever asks, and
// input for them
// (docs/design/output_forwarding.md).
#ifndef CANOPY_SERVER_CORE_IOF_FORWARDING_H_
#define CANOPY_SERVER_CORE_IOF_FORWARDING_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/iof_call.h"
#include "common/job.h"
#include "server/core/host/refusals.h"
#include "server/core/iof/input_pushes.h"
#include "server/core/iof/output_cache.h"
#include "server/core/iof/puller.h"
#include "server/core/job/engine.h"
#include "server/core/job/output_tap.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/step/host.h"

namespace canopy::core {

// Pullers of one job, at the agent that controls it.
inline constexpr size_t kMaxPullers = 64;
// Reads under way of one process, at its agent.
inline constexpr size_t kMaxReads = 64;

// A puller reads: each read names it, and acknowledges what the answer before
// has given; the answer comes when there is output. So nothing is sent that
// nobody has asked for, and whoever does not read loses what its cache has no
// room for.
//
// At the agent of who asks, a read is a HostRequest to the agent that controls
// the job, sent again when the agents or their tree have changed. There, each
// puller has what it has yet to get, and the job has a cache for those that
// come later. What is left of a job that is over stays until it is read, or
// not for long. Not synchronised.
class Forwarding final : public OutputTap {
 public:
  // Table and engine outlive it.
  Forwarding(NodeId self, const JobTable& jobs, JobEngine& engine);

  // ------------------------------------------------- the caller's agent ---

  // Of HostOp::kReadOutput and kPushInput. kErrInit, kErrBadParam,
  // kErrOutOfResource are answered at once; the rest is the other agent's.
  void OnArrived(TimeNs now, const HostCallArrived& in, Actions* actions);
  // False: it answers nothing that was asked here.
  bool OnReply(NodeId src, const HostReply& reply, Actions* actions);
  // Its pullers end.
  void OnClientGone(ClientId client, Actions* actions);
  // Pushes that another one of the same process was before: they are sent now.
  bool has_due() const { return !due_.empty(); }
  void SendDue(TimeNs now, Actions* actions);

  // ------------------------------------------- the agent of the control ---

  // kErrNotFound: no such job or rank. kErrNotSupported: the job's output is
  // not to be forwarded. kErrNoPermissions: it is another user's.
  void OnRequest(TimeNs now, NodeId src, const HostRequest& request,
                 Actions* actions);
  bool OnOutput(TimeNs now, const TappedOutput& output,
                Actions* actions) override;
  void OnInputTaken(const std::string& nspace, uint64_t bytes,
                    Actions* actions) override;
  // A job that this agent's predecessor has controlled: what comes of its
  // output is for pullers of that one, too.
  void OnRecovered(const std::string& nspace);
  void OnJobRemoved(TimeNs now, const std::string& nspace, Actions* actions);

  // ----------------------------------------------------------- changes ---

  void OnNodeLost(NodeId node);
  // What the node's clients want to go on with, they ask for again.
  void OnNodeRestarted(TimeNs now, NodeId node);
  void OnTreeChanged(TimeNs now, Actions* actions);
  void OnTick(TimeNs now);
  // At the latest when a puller expires: it may have read since.
  TimeNs NextDeadline() const { return next_expiry_; }

  // Pullers here, and reads under way.
  size_t size() const;

 private:
  struct PullerId {
    ProcId proc;
    uint64_t handle = 0;
    auto operator<=>(const PullerId&) const = default;
  };
  struct ReadId {
    ProcId proc;
    uint64_t request = 0;
    auto operator<=>(const ReadId&) const = default;
  };
  // Of a client of this agent, under way.
  struct Read {
    ClientId client = 0;
    RequestId number = 0;  // as the client numbers it
    HostRequest request;
  };
  // Pullers of clients of this agent, to end with these, and what ends them.
  struct Owned {
    ClientId client = 0;
    HostRequest end;
  };
  using OwnedId = std::pair<PullerId, std::string>;  // with the job
  using Reads = std::map<ReadId, Read>;
  struct Asker {
    NodeId node = kNoNode;
    ProcId proc;
    uint64_t request = 0;
    std::string nspace;
  };
  struct Entry {
    Puller puller;
    NodeId node = kNoNode;       // of who reads
    std::optional<Asker> asker;  // waits for output
    TimeNs expires = kNever;     // unless it reads before
    uint64_t first = 0;          // number of its first read,
    uint64_t last = 0;           // and of the last one
  };
  struct Ended {
    uint64_t first = 0;  // number of its first read,
    uint64_t end = 0;    // and of its end
    TimeNs until = 0;    // its first read may come again
  };
  // One that is controlled here, or over.
  struct Source {
    OutputCache cache;
    std::map<PullerId, Entry> pullers;
    // Some that have ended: a read that is late does not bring them back.
    std::map<PullerId, Ended> ended;
    uint32_t uid = 0;
    bool over = false;
    // Of a job that another agent has controlled before: pullers that are not
    // known here may come until then. 0: none.
    TimeNs until = 0;
  };

  int Refusal(const ProcId* caller, const HostCallArrived& in,
              OutputRead* read) const;
  void Own(const HostCallArrived& in, const HostRequest& request,
           OutputRead read);
  void Send(TimeNs now, const HostRequest& request, Actions* actions);
  bool IsBehindPush(Reads::const_iterator read) const;
  void FindNextPush(const HostRequest& before);
  bool OnEnded(const HostReply& reply);
  void AskAgain(TimeNs now, const std::string& nspace, Actions* actions);
  void Disown(const HostRequest& request);
  void Answer(const Asker& asker, int status, Bytes results, Actions* actions);
  void AnswerNews(Entry* entry, Actions* actions);
  void Refuse(TimeNs now, NodeId src, const HostRequest& request, int status,
              Actions* actions);
  Source* SourceOf(const std::string& nspace);
  int Serve(TimeNs now, NodeId src, const HostRequest& request,
            Actions* actions);
  int Check(const HostRequest& request, const OutputRead& read,
            const Source& source) const;
  bool AnswerOver(const Asker& asker, const OutputRead& read, Actions* actions);
  // Nothing follows.
  void AnswerComplete(const Asker& asker, const OutputRead& read,
                      Actions* actions);
  static bool HasEnded(TimeNs now, const Source& source,
                       const HostRequest& request, const OutputRead& read);
  static bool IsLate(const Source& source, const HostRequest& request,
                     const OutputRead& read);
  void End(TimeNs now, Source* source, const HostRequest& request,
           const OutputRead& read, Actions* actions);
  Entry* FindOrAdd(TimeNs now, const HostRequest& request,
                   const OutputRead& read, Source* source);
  void Expire(Entry* entry, TimeNs when);
  void DropDone(const std::string& nspace);
  void PassPushed(Actions* actions);

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  InputPushes pushes_;
  Refusals refusals_;
  uint64_t last_epoch_ = 0;
  Reads reads_;
  std::map<OwnedId, Owned> owned_;
  // Of clients that are gone, until it is known that their pullers have ended.
  std::map<OwnedId, HostRequest> ends_;
  std::vector<ReadId> due_;
  std::map<std::string, Source> sources_;
  TimeNs next_expiry_ = kNever;  // of all pullers; none expires before
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_FORWARDING_H_
