// The overlay of a check as the service knows it: one stream after another.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_ATTACHMENT_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_ATTACHMENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client/cli/host_module/attach_call.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/probe.h"

namespace canopy::cli {

// Single-threaded. What is not as the contract has it goes to the findings of
// the slot "attach".
class Attachment {
 public:
  // Both outlive this.
  Attachment(Probe* probe, Findings* findings)
      : probe_(probe), findings_(findings) {}

  // The whole check of the slot, after which the overlay is attached. False: it
  // is not.
  bool Check();
  // Attaches anew, as the same agent does after a break.
  bool Again(const std::vector<hostmodule::v1::JobReport>& jobs,
             uint32_t settle_ms);
  // A node's state, once it was taken.
  void SetState(const char* node, hostmodule::v1::NodeState state);
  // At the end: what had no business on the stream.
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
