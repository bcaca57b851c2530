// The overlay that a check simulates, as the service sees it: a sequence of
// Attach streams.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_ATTACHMENT_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_ATTACHMENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client/cli/host_module/attach_call.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/probe.h"

namespace canopy::cli {

// Used by one thread. Violations of the contract are reported as findings of
// the slot "attach".
class Attachment {
 public:
  // `probe` and `findings` must outlive this object.
  Attachment(Probe* probe, Findings* findings)
      : probe_(probe), findings_(findings) {}

  // Attaches for the first time. Returns false, which is a finding, if the
  // host's hello does not arrive in time. `settle_ms` is
  // SnapshotPage::settle_time in milliseconds.
  bool Attach(uint32_t settle_ms);
  // Runs the whole check of the slot. Returns true if the overlay is attached
  // afterwards.
  bool Check();
  // Attaches again, as an agent does after its stream broke. `jobs` are the
  // jobs of the snapshot. Otherwise like Attach.
  bool Again(const std::vector<hostmodule::v1::JobReport>& jobs,
             uint32_t settle_ms);
  // Reports a node's state and waits for the acknowledgement.
  void SetState(const char* node, hostmodule::v1::NodeState state);
  // Reports the invalid messages on the stream; called at the end of the check.
  void CheckProblems();

 private:
  bool Hello(uint64_t acknowledged);
  void Reports();
  void AnotherRun();

  Probe* const probe_;
  Findings* const findings_;
  uint64_t incarnation_ = 0;
  std::unique_ptr<AttachCall> call_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_ATTACHMENT_H_
