// The overlay of a server that a host in C runs: the host is all that is
// beyond this node, and what the core sends there becomes a call of one of the
// host's functions.
#ifndef CANOPY_SERVER_LIBRARY_HOST_OVERLAY_H_
#define CANOPY_SERVER_LIBRARY_HOST_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "pmix_server.h"
#include "server/core/messages.h"
#include "server/core/step/log_line.h"
#include "server/library/arrivals.h"
#include "server/library/hosted_groups.h"
#include "server/library/hosted_jobs.h"
#include "server/library/outside_keys.h"
#include "server/library/upcalls.h"
#include "server/ports/input_sink.h"
#include "server/ports/overlay_port.h"

namespace canopy::library {

// Messages to the core come from the host (kHost), or from the node that a
// process is on, on whose behalf the host answers. Messages that concern
// agents only, and that a host has no function for, are dropped. Loop thread
// only.
class HostOverlay : public OverlayPort {
 public:
  struct Parts {
    InputSink* sink = nullptr;
    const canopy_server_module_t* module = nullptr;
    Upcalls* upcalls = nullptr;
    const HostedJobs* jobs = nullptr;
    const Arrivals* arrivals = nullptr;
    const OutsideKeys* outside = nullptr;
    // Also those of processes of this node alone.
    bool host_has_all_fences = false;
    // Reports what a local process has committed, or the next commit.
    std::function<void(const ProcId& proc)> await_commit;
    // Calls back in so many milliseconds.
    std::function<void(int64_t ms, std::function<void()> what)> after;
    // Gives the core a job that the host has registered, and whose clients it
    // has not registered yet, and calls `then`; both later. Empty: such a job
    // is unknown.
    std::function<void(const std::string& nspace, std::function<void()> then)>
        begin;
    std::function<void(const core::LogLine&)> log;
  };
  // What the parts refer to outlives it.
  explicit HostOverlay(Parts parts) : p_(std::move(parts)), groups_(p_.jobs) {}

  void Send(const core::PeerMessage& message) override;

  // The status and, if that is kSuccess, what a local process has committed.
  using Answer = std::function<void(int status, std::string blob)>;
  // For a process of another node (PMIx_server_dmodex_request). Waits until it
  // has committed something; kErrNotFound when it never can.
  void GetCommitted(const ProcId& proc, Answer answer);
  // Local processes have committed something, or a job is here from now on.
  void OnCommit();
  // A namespace is not here any more: whoever waits for data of it is told.
  void DropJob(const std::string& nspace);

 private:
  struct Request {
    ProcId proc;
    Answer answer;
    bool waits = false;  // for a commit
  };

  void On(NodeId dst, const core::CollectiveUp& up);
  void On(NodeId dst, const core::DmodexRequest& request);
  void On(NodeId dst, const core::DmodexReply& reply);
  void On(NodeId dst, const core::JobMapRequest& request);
  void On(NodeId dst, const core::EventMessage& event);
  void AnswerMap(const core::JobMapRequest& request);
  // Everything else.
  template <typename T>
  void On(NodeId, const T&) {}

  // Whether the host takes part in it, and can.
  bool IsHosts(const core::CollectiveUp& up) const;
  void AskHost(const core::CollectiveUp& up);
  // What becomes of the host's answer: nothing where processes here have had
  // theirs, as it has failed here.
  Upcalls::Done Awaited(const core::CollectiveUp& up, Upcalls::Done done);
  void Fence(const core::CollectiveUp& up);
  void Connect(const core::CollectiveUp& up);
  void Group(const core::CollectiveUp& up);
  void FinishGroup(const core::CollectiveUp& up, const HostAnswer& answer);
  void Release(const core::CollectiveId& id, int status,
               std::vector<core::NodeContribution> contributions = {},
               Bytes result = {});
  // Each job of which all processes are named, sorted, by a wildcard in their
  // place.
  std::vector<ProcId> WithWholeJobs(const std::vector<ProcId>& procs) const;
  // What the fence's answer brings of each node.
  int SortByNode(const std::string& joined,
                 std::vector<core::NodeContribution>* contributions) const;
  // Of a get that waits for its key, until when, and how long to the next
  // question.
  struct Patience {
    int64_t left_ms = 0;
    int64_t pause_ms = 0;
  };
  void GetOfHost(NodeId from, const core::DmodexRequest& request,
                 Patience patience);
  void AskHostAgain(NodeId from, const core::DmodexRequest& request,
                    Patience patience);
  void AnswerGet(NodeId from, const core::DmodexRequest& request,
                 HostAnswer answer, Patience patience);
  void Deliver(NodeId from, core::MessageBody body);
  void Ask(uint64_t number, const ProcId& proc);
  bool MayCommit(const ProcId& proc) const;
  void Log(std::string text) const;

  const Parts p_;
  HostedGroups groups_;
  // The host has what this node brings, and has not answered.
  std::set<core::CollectiveId> with_host_;
  std::map<uint64_t, Request> requests_;  // of the host
  uint64_t next_request_ = 1;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_OVERLAY_H_
