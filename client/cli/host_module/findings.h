// What a check of a scheduler's service has found out, slot by slot.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_

#include <string>
#include <vector>

#include "client/cli/host_module/check.pb.h"

namespace canopy::cli {

// Of one slot. Single-threaded.
class Findings {
 public:
  // `slot`: its line in the report, which outlives this.
  explicit Findings(v1::SlotCheck* slot) : slot_(slot) {
    slot->set_result("ok");
  }

  // Fails the slot with "expected EXPECTED; got GOT" unless it `holds`. Returns
  // whether it does.
  bool Expect(bool holds, const std::string& expected, const std::string& got);
  // The same for what is wrong in itself.
  void Fail(const std::string& problem);
  bool failed() const { return !slot_->problems().empty(); }

 private:
  v1::SlotCheck* const slot_;
};

// A line for each slot, and more where one has failed.
std::string CheckText(const v1::HostModuleCheck& check);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_
