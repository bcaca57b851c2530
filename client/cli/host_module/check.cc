#include "client/cli/host_module/check.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <string>

#include "client/cli/host_module/attachment.h"
#include "client/cli/host_module/calls_check.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/placement_check.h"
#include "client/cli/host_module/probe.h"
#include "client/cli/host_module/status_text.h"
#include "client/cli/host_module/well_formed.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

v1::SlotCheck* AddSlot(const std::string& name, v1::HostModuleCheck* check) {
  v1::SlotCheck* const slot = check->add_slots();
  slot->set_slot(name);
  slot->set_result("not implemented");
  return slot;
}

grpc::Status GetCapabilities(Probe* probe,
                             v1h::GetCapabilitiesResponse* reply) {
  grpc::ClientContext context;
  probe->SetDeadline(&context);
  context.set_wait_for_ready(true);
  v1h::GetCapabilitiesRequest request;
  *request.mutable_overlay() = probe->overlay();
  return probe->stub()->GetCapabilities(&context, request, reply);
}

class WholeCheck {
 public:
  WholeCheck(Probe* probe, v1::HostModuleCheck* check)
      : probe_(probe), check_(check) {}

  void Run() {
    Findings findings(AddSlot("capabilities", check_));
    findings.Begin("features are told");
    const grpc::Status status = GetCapabilities(probe_, &capabilities_);
    if (!findings.Expect(status.ok(), "an answer to GetCapabilities",
                         StatusText(EndOf(status)))) {
      return;
    }
    check_->set_name(capabilities_.name());
    check_->set_version(capabilities_.version());
    const std::string problem = ProblemOf(capabilities_);
    if (!problem.empty()) findings.Fail("got " + problem);
    Placements();
    for (int slot = v1h::FEATURE_ALLOCATE; slot <= v1h::Feature_MAX; ++slot) {
      Calls(static_cast<v1h::Feature>(slot));
    }
    findings.Begin("the service answers after all cases");
    v1h::GetCapabilitiesResponse last;
    const grpc::Status after = GetCapabilities(probe_, &last);
    findings.Expect(after.ok(), "a service that still answers after the check",
                    StatusText(EndOf(after)));
  }

 private:
  bool Has(v1h::Feature slot) const {
    return std::ranges::find(capabilities_.features(), slot) !=
           capabilities_.features().end();
  }

  // Checks the slots "place_job" and "attach", which belong together.
  void Placements() {
    v1::SlotCheck* const place = AddSlot("place_job", check_);
    v1::SlotCheck* const attach = AddSlot("attach", check_);
    if (!Has(v1h::FEATURE_ATTACH)) return;
    Findings attach_findings(attach);
    Attachment attachment(probe_, &attach_findings);
    const bool attached = attachment.Check();
    if (!Has(v1h::FEATURE_PLACE_JOB)) return;
    Findings findings(place);
    if (!findings.Expect(attached, "nodes to be reported by attach",
                         "no stream")) {
      return;
    }
    PlacementCheck(probe_, &attachment, &findings).Run();
    attachment.CheckProblems();
  }

  void Calls(v1h::Feature slot) {
    v1::SlotCheck* const line = AddSlot(FeatureName(slot), check_);
    if (!Has(slot)) return;
    Findings findings(line);
    CheckCalls(probe_, slot, &findings);
  }

  Probe* const probe_;
  v1::HostModuleCheck* const check_;
  v1h::GetCapabilitiesResponse capabilities_;
};

}  // namespace

v1::HostModuleCheck CheckHostModule(
    const std::shared_ptr<grpc::Channel>& channel, int timeout_ms) {
  Probe probe(channel, timeout_ms);
  v1::HostModuleCheck check;
  WholeCheck(&probe, &check).Run();
  check.set_conforms(std::ranges::all_of(
      check.slots(),
      [](const v1::SlotCheck& slot) { return slot.result() != "failed"; }));
  return check;
}

}  // namespace canopy::cli
