// Checks that a scheduler places jobs as
// protos/canopy/hostmodule/v1/host_module.proto describes for PlaceJob,
// JobLaunched and JobReleased.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CHECK_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CHECK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "client/cli/host_module/attachment.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/placement_call.h"
#include "client/cli/host_module/probe.h"

namespace canopy::cli {

// Used by one thread. Each step releases its grants at its end.
class PlacementCheck {
 public:
  // The objects must outlive this one. The overlay is attached.
  PlacementCheck(Probe* probe, Attachment* attachment, Findings* findings)
      : probe_(probe), attachment_(attachment), findings_(findings) {}

  // Runs the steps until one of them fails.
  void Run();

 private:
  using Call = std::unique_ptr<PlacementCall>;
  using Request = hostmodule::v1::PlaceJobRequest;

  // The steps of the check. All others depend on the first one.
  void OneJob();
  void FullNodes();
  void CancelledJob();
  void AskedAgain();
  void SameGrant();
  void LaterAttempt();
  void UnknownRelease();
  void NamedHosts();
  void HostsOfApplications();
  void Aliases();
  void SlotsOfHosts();
  void RefusedNodes();
  void ProcessesOnANode();
  void SlotsOfProcesses();
  void TooManySlots();
  void Oversubscribed();
  void AsManyAsThereAre();
  void EarlierRequest();
  void RequiredDirective();
  void NodesThatAreNotUp();
  void TwoAtOnce();
  void UnknownFields();
  void JobsOfSnapshot();
  void ManyWaitingJobs();
  void TwoOverlays();

  Request Ask(uint32_t slots, const std::string& host = "");
  Call Start(Request request);
  // Reports a finding unless the call is granted and the grant fits the
  // request. Returns true if it is granted. `what` describes the job, e.g. "a
  // job of 1 slot".
  bool ExpectGrant(PlacementCall* call, const std::string& what);
  void ExpectNoGrant(PlacementCall* call, const std::string& what);
  // Each function sends a request. Granted expects a grant; Waiting expects
  // that there is no grant yet.
  Call Granted(Request request, const std::string& what);
  Call Waiting(Request request, const std::string& what);
  void CheckFits(const PlacementCall& call,
                 const hostmodule::v1::Granted& granted);
  void CheckNode(const Request& request,
                 const hostmodule::v1::GrantedNode& part);
  void CheckSlots(const std::string& node);
  void Launched(const PlacementCall& call);
  void Release(const Request& request);
  void Withdraw(PlacementCall* call);
  void ReleaseAll();

  Probe* const probe_;
  Attachment* const attachment_;
  Findings* const findings_;
  // Grants that are held, by request_id.
  std::map<std::string, hostmodule::v1::Granted> held_;
  std::map<std::string, Request> requests_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CHECK_H_
