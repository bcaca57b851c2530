// Whether a scheduler places jobs as PlaceJob, JobLaunched and JobReleased of
// protos/host_module.proto have it.
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

// Single-threaded. Whatever a step is granted is released at its end.
class PlacementCheck {
 public:
  // All outlive this. The overlay is attached.
  PlacementCheck(Probe* probe, Attachment* attachment, Findings* findings)
      : probe_(probe), attachment_(attachment), findings_(findings) {}

  void Run();

 private:
  using Call = std::unique_ptr<PlacementCall>;
  using Request = hostmodule::v1::PlaceJobRequest;

  // The steps. The first one is the premise of all others.
  void OneJob();
  void FullNodes();
  void CancelledJob();
  void AskedAgain();
  void SameGrant();
  void LaterAttempt();
  void UnknownRelease();
  void NamedHosts();
  void TooManySlots();
  void AsManyAsThereAre();
  void RequiredDirective();
  void NodesThatAreNotUp();
  void TwoAtOnce();
  void UnknownFields();
  void JobsOfSnapshot();

  Request Ask(uint32_t slots, const std::string& host = "");
  Call Start(Request request);
  // `what`: "a job of 1 slot", whose grant has to fit.
  bool ExpectGrant(PlacementCall* call, const std::string& what);
  void ExpectNoGrant(PlacementCall* call, const std::string& what);
  // Asks, and expects a grant, or none.
  Call Granted(Request request, const std::string& what);
  Call Waiting(Request request, const std::string& what);
  void CheckFits(const PlacementCall& call,
                 const hostmodule::v1::Granted& granted);
  void CheckSlots(const std::string& node);
  void Launched(const PlacementCall& call);
  void Release(const Request& request);
  void Withdraw(PlacementCall* call);
  void ReleaseAll();

  Probe* const probe_;
  Attachment* const attachment_;
  Findings* const findings_;
  // What is granted, by request_id.
  std::map<std::string, hostmodule::v1::Granted> held_;
  std::map<std::string, Request> requests_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CHECK_H_
