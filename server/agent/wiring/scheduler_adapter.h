// The agent's connection to its scheduler, and its reports to the scheduler.
#ifndef CANOPY_SERVER_AGENT_WIRING_SCHEDULER_ADAPTER_H_
#define CANOPY_SERVER_AGENT_WIRING_SCHEDULER_ADAPTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/agent/membership/membership.h"
#include "server/control/job_manager.h"
#include "server/core/step/peer_inputs.h"
#include "server/ports/host_port.h"
#include "server/ports/input_observer.h"
#include "server/ports/input_sink.h"
#include "server/ports/placement_port.h"
#include "server/scheduler/job_placement.h"
#include "server/scheduler/link.h"
#include "server/scheduler/report_store.h"
#include "server/scheduler/reports.h"
#include "server/scheduler/scheduler_host.h"
#include "server/scheduler/service_client.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Loop thread only.
class SchedulerAdapter : public InputObserver {
 public:
  struct Parts {
    EventLoop* loop = nullptr;  // the objects here outlive the adapter
    InputSink* sink = nullptr;
    const bootstrap::v1::Config* config = nullptr;
    const Membership* membership = nullptr;
    control::JobManager* job_manager = nullptr;
    HostPort* embedded = nullptr;
    uint64_t started = 0;  // nanoseconds since 1970
    // Stores unacknowledged reports. Null if there is no successor.
    scheduler::ReportStore* reports = nullptr;
  };
  // Creates the adapter. An error explains why the address cannot be used.
  static Result<std::unique_ptr<SchedulerAdapter>> Make(
      const Parts& parts, const security::SecurityConfig& security);
  ~SchedulerAdapter() override;

  // Starts to connect. `members` contain their slots and topologies.
  void Start(const bootstrap::v1::Members& members);
  // Runs the loop for up to a second, until the scheduler has received the
  // records of all jobs and a goodbye. Called when all jobs have ended.
  void FinishReports();
  // Returns the reason why the scheduler is not reachable; empty if it is.
  std::string trouble() const { return link_.up() ? "" : link_.WhyDown(); }
  PlacementPort* placement() { return &placement_; }
  HostPort* host() { return &host_; }

  // Reports the state of a member about which the root has decided, or a new
  // member.
  void OnMember(NodeId node);
  // Called when another node has become the leader, which sends the reports.
  void OnLeaderChanged();
  // Called when agents may have stopped or begun to answer.
  void OnReachability() { ReportChanges(); }
  void OnNodeStateChanged(const core::NodeStateChanged& change) override;

 private:
  SchedulerAdapter(const Parts& parts,
                   std::unique_ptr<scheduler::ServiceClient> client);

  scheduler::Reports::Options ReportsOptions();
  scheduler::JobPlacement::Options PlacementOptions();
  scheduler::SchedulerHost::Options HostOptions();
  std::vector<hostmodule::v1::NodeReport> Nodes() const;
  void SetState(NodeId node, hostmodule::v1::NodeReport* report) const;
  // Reports the nodes whose state or reason has changed.
  void ReportChanges();

  const Parts parts_;
  // The nodes, with the states that were last reported.
  std::vector<hostmodule::v1::NodeReport> nodes_;
  scheduler::Link link_;
  scheduler::Reports reports_;
  scheduler::JobPlacement placement_;
  scheduler::SchedulerHost host_;
  // The client is destroyed first, because its callbacks use the other members.
  std::unique_ptr<scheduler::ServiceClient> client_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_SCHEDULER_ADAPTER_H_
