// The overlay of a server that a host in C runs. The host represents all other
// nodes: a message that the core sends becomes a call of one of the host's
// functions.
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

// Messages to the core come from the host (kHost), or from the node of the
// process for which the host answers. Messages between agents for which a host
// has no function are dropped. Loop thread only.
class HostOverlay : public OverlayPort {
 public:
  struct Parts {
    InputSink* sink = nullptr;
    const canopy_server_module_t* module = nullptr;
    Upcalls* upcalls = nullptr;
    const HostedJobs* jobs = nullptr;
    const Arrivals* arrivals = nullptr;
    const OutsideKeys* outside = nullptr;
    // True if the host also handles fences among processes of this node only.
    bool host_has_all_fences = false;
    // Requests the committed data of a local process, or its next commit.
    std::function<void(const ProcId& proc)> await_commit;
    // Calls `what` after `ms` milliseconds.
    std::function<void(int64_t ms, std::function<void()> what)> after;
    // Adds to the core a registered job of which no client is registered yet,
    // and then calls `then`, both after `begin` has returned. If `begin` is
    // empty, such a job is unknown.
    std::function<void(const std::string& nspace, std::function<void()> then)>
        begin;
    std::function<void(const core::LogLine&)> log;
  };
  // The objects to which the parts refer outlive the overlay.
  explicit HostOverlay(Parts parts) : p_(std::move(parts)), groups_(p_.jobs) {}

  void Send(const core::PeerMessage& message) override;

  // The status and, if it is kSuccess, the committed data of a local process.
  using Answer = std::function<void(int status, std::string blob)>;
  // Serves a process of another node (PMIx_server_dmodex_request). Waits until
  // `proc` has committed data. The status is kErrNotFound if `proc` can never
  // commit data.
  void GetCommitted(const ProcId& proc, Answer answer);
  // Called when local processes have committed data, or a job was added.
  void OnCommit();
  // Fails all requests for data of a removed namespace.
  void DropJob(const std::string& nspace);

 private:
  struct Request {
    ProcId proc;
    Answer answer;
    bool waits = false;  // true: waits for a commit
  };

  void On(NodeId dst, const core::CollectiveUp& up);
  void On(NodeId dst, const core::DmodexRequest& request);
  void On(NodeId dst, const core::DmodexReply& reply);
  void On(NodeId dst, const core::JobMapRequest& request);
  void On(NodeId dst, const core::EventMessage& event);
  void AnswerMap(const core::JobMapRequest& request);
  // Messages of all other types are dropped.
  template <typename T>
  void On(NodeId, const T&) {}

  // Returns true if the host takes part in the collective and has the function
  // for it.
  bool IsHosts(const core::CollectiveUp& up) const;
  void AskHost(const core::CollectiveUp& up);
  // Returns the handler of the host's answer, which calls `done`. If the
  // collective has failed on this node, the handler does nothing, because the
  // local processes already have their answers.
  Upcalls::Done Awaited(const core::CollectiveUp& up, Upcalls::Done done);
  void Fence(const core::CollectiveUp& up);
  void Connect(const core::CollectiveUp& up);
  void Group(const core::CollectiveUp& up);
  void FinishGroup(const core::CollectiveUp& up, const HostAnswer& answer);
  void Release(const core::CollectiveId& id, int status,
               std::vector<core::NodeContribution> contributions = {},
               Bytes result = {});
  // Replaces the processes of a job by a wildcard if `procs` contains all of
  // them. The result is sorted.
  std::vector<ProcId> WithWholeJobs(const std::vector<ProcId>& procs) const;
  // Splits the data of a fence's answer by node.
  int SortByNode(const std::string& joined,
                 std::vector<core::NodeContribution>* contributions) const;
  // The remaining time of a get that waits for its key, and the pause before
  // the next request to the host.
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
  // The collectives for which the host was called and has not answered.
  std::set<core::CollectiveId> with_host_;
  std::map<uint64_t, Request> requests_;  // requests by the host
  uint64_t next_request_ = 1;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_OVERLAY_H_
