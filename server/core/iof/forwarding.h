// PMIx_IOF_pull and PMIx_IOF_push (PMIx Standard, chapter "Tools and
// Debuggers"): clients pull the output of running jobs and push input to them.
// docs/design/output_forwarding.md describes both; the comment of Forwarding
// has the two sides of a pull, and how repeated and late requests are
// distinguished.
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
#include "server/core/engine.h"
#include "server/core/host/refusals.h"
#include "server/core/iof/input_pushes.h"
#include "server/core/iof/output_cache.h"
#include "server/core/iof/puller.h"
#include "server/core/job/engine.h"
#include "server/core/job/output_tap.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/step/host.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Maximum number of pullers of one job, at its controller.
inline constexpr size_t kMaxPullers = 64;
// Maximum number of pending reads of one process, at its agent.
inline constexpr size_t kMaxReads = 64;

// A puller is a subscription to the output of a job. It is driven by reads:
// each read names its puller (process and handle) and carries a cursor, which
// acknowledges the previous answer. The controller answers a read when there is
// output. Nothing is sent without a read, and a puller that reads too slowly
// loses output that exceeds its cache.
//
// Two parts, at different agents:
// - At the reader's agent, `reads_` holds pending requests. A read becomes a
//   HostRequest to the job's controller and is sent again after any change of
//   the members or the tree. `owned_` has, for each puller, the request that
//   ends it; when its client disconnects it moves to `ends_` until the end is
//   acknowledged. The pushes of one process to one job are sent one at a time.
// - At the job's controller, a Source is the output of one job: a cache for
//   pullers that arrive later, and an Entry for each puller with its unread
//   output and its pending read (`asker`).
//
// Requests may therefore be repeated or arrive late. The controller compares
// request numbers, which grow within a process, with those of the puller's
// first and last read:
// - the number of the first read, before any other read: the same puller
//   repeats its first read, which is answered again;
// - a first read with another number: a new puller replaces the old one;
// - a lower number than the last read: a late read (IsLate). It is ignored,
//   because its process has had the answer;
// - a read of a puller that has ended (`ended`): answered as complete
//   (HasEnded);
// - a read with a cursor of another controller: a new Entry resumes from that
//   cursor (Puller::Resume).
//
// A source outlives its job until its pullers have ended or expired. Not
// synchronised. Times are in nanoseconds.
class Forwarding final : public Engine, public OutputTap {
 public:
  // Job table and engine outlive this object.
  Forwarding(NodeId self, const JobTable& jobs, JobEngine& engine);

  // ------------------------------------------------- the caller's agent ---

  // Handles HostOp::kReadOutput and kPushInput. Immediately replies kErrInit if
  // the caller is unknown, kErrBadParam for a malformed read, no targets or
  // targets of several jobs, or kErrOutOfResource if the caller has too many
  // pending requests. Other results come from the controller.
  void OnArrived(const StepContext& step, const HostCallArrived& in);
  // Handles a reply. Returns false if no request of this agent expects it.
  bool OnReply(const StepContext& step, NodeId src, const HostReply& reply);
  // Ends the pullers of the client.
  void OnClientGone(const StepContext& step, ClientId client) override;
  // Sends a push that has waited for the answer to the previous push.
  void SendPush(const StepContext& step, const PushDue& push);

  // ------------------------------------------------ the job's controller ---

  // Serves a request as the job's controller. Errors of a read: kErrBadParam if
  // it is malformed, kErrNotFound for an unknown job or rank, kErrNotSupported
  // if the job's output may not be forwarded, kErrNoPermissions for a job of
  // another user, kErrOutOfResource for more than kMaxPullers.
  void OnRequest(const StepContext& step, NodeId src,
                 const HostRequest& request);
  // Handles output of the job. Returns true if a puller redirects the output,
  // so that the launcher must not get it.
  bool OnOutput(const StepContext& step, const TappedOutput& output) override;
  void OnInputTaken(const StepContext& step, const std::string& nspace,
                    uint64_t bytes) override;
  // Called for a job that this agent's predecessor controlled. The job's
  // pullers may resume at this agent.
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;

  // ----------------------------------------------------------- changes ---

  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  // Called when the node has a new agent. That agent has no pending reads; its
  // clients repeat theirs.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnTreeChanged(const StepContext& step) override;
  void OnTick(const StepContext& step) override;
  // Returns the earliest time at which a puller may expire; kNever if no puller
  // may. A read may have postponed the puller's end meanwhile.
  TimeNs NextDeadline() const override { return next_expiry_; }

  void Count(ResourceCounts* counts) const override {
    counts->forwarding = size();
  }
  // Returns how many pullers and pending requests this object holds.
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
  // A pending request of a client of this agent.
  struct Read {
    ClientId client = 0;
    RequestId number = 0;  // the number that the client gave it
    HostRequest request;
  };
  // The pullers of this agent's clients, with the requests that end them.
  struct Owned {
    ClientId client = 0;
    HostRequest end;
  };
  using OwnedId = std::pair<PullerId, std::string>;  // puller and job
  using Reads = std::map<ReadId, Read>;
  struct Asker {
    NodeId node = kNoNode;
    ProcId proc;
    uint64_t request = 0;
    std::string nspace;
  };
  struct Entry {
    Puller puller;
    NodeId node = kNoNode;       // agent of the reader
    std::optional<Asker> asker;  // the read that waits for output
    TimeNs expires = kNever;     // when it ends unless a read arrives first
    uint64_t first = 0;          // number of its first read
    uint64_t last = 0;           // number of its last read
  };
  struct Ended {
    uint64_t first = 0;  // number of its first read
    uint64_t end = 0;    // number of the request that ended it
    TimeNs until = 0;    // time until which its first read may be repeated
  };
  // The output of a job that this agent controls, or that is over.
  struct Source {
    OutputCache cache;
    std::map<PullerId, Entry> pullers;
    // Pullers that ended recently. They are kept so that a late read does not
    // revive them.
    std::map<PullerId, Ended> ended;
    uint32_t uid = 0;
    bool over = false;
    // For a job that another agent controlled before: the time until which
    // pullers that are unknown to this agent may appear. 0: no more may appear.
    TimeNs until = 0;
  };

  int Refusal(const ProcId* caller, const HostCallArrived& in,
              OutputRead* read) const;
  void Own(const HostCallArrived& in, const HostRequest& request,
           OutputRead read);
  void Send(const StepContext& step, const HostRequest& request);
  bool IsBehindPush(Reads::const_iterator read) const;
  void FindNextPush(const HostRequest& before) const;
  bool OnEnded(const HostReply& reply);
  void AskAgain(const StepContext& step, const std::string& nspace);
  void Disown(const HostRequest& request);
  void Answer(const StepContext& step, const Asker& asker, int status,
              Bytes results);
  void AnswerNews(const StepContext& step, Entry* entry);
  void Refuse(const StepContext& step, NodeId src, const HostRequest& request,
              int status);
  // Returns the part of kAllCaches that the jobs of this controller leave free.
  uint64_t FreeForCaches() const;
  Source* SourceOf(const std::string& nspace);
  int Serve(const StepContext& step, NodeId src, const HostRequest& request);
  int Check(const HostRequest& request, const OutputRead& read,
            const Source& source) const;
  bool AnswerOver(const StepContext& step, const Asker& asker,
                  const OutputRead& read);
  // Answers that the output is complete.
  void AnswerComplete(const StepContext& step, const Asker& asker,
                      const OutputRead& read);
  static bool HasEnded(TimeNs now, const Source& source,
                       const HostRequest& request, const OutputRead& read);
  static bool IsLate(const Source& source, const HostRequest& request,
                     const OutputRead& read);
  void End(const StepContext& step, Source* source, const HostRequest& request,
           const OutputRead& read);
  Entry* FindOrAdd(TimeNs now, const HostRequest& request,
                   const OutputRead& read, Source* source);
  void Expire(Entry* entry, TimeNs when);
  void DropDone(const std::string& nspace);
  void PassPushed(const StepContext& step);

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  InputPushes pushes_;
  Refusals refusals_;
  uint64_t last_epoch_ = 0;
  Reads reads_;
  std::map<OwnedId, Owned> owned_;
  // Requests that end pullers of disconnected clients, until acknowledged.
  std::map<OwnedId, HostRequest> ends_;
  std::map<std::string, Source> sources_;
  // Lower bound of the times at which pullers expire.
  TimeNs next_expiry_ = kNever;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_FORWARDING_H_
