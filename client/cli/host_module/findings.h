// Collects the results of checking a scheduler's service, one set for each
// slot.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_

#include <string>
#include <vector>

#include "client/cli/base/json.h"
#include "client/cli/host_module/check.pb.h"

namespace canopy::cli {

// The results for one slot. Used by one thread.
class Findings {
 public:
  // `slot` is the slot's entry in the report and must outlive this object.
  explicit Findings(v1::SlotCheck* slot) : slot_(slot) {
    slot->set_result("ok");
  }
  // Creates findings that are not reported.
  Findings() : Findings(&unreported_) {}
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  // Starts a case with this name, to which the following findings belong.
  void Begin(const std::string& name);
  // Fails the slot with "expected EXPECTED; got GOT" unless `holds`. Returns
  // `holds`.
  bool Expect(bool holds, const std::string& expected, const std::string& got);
  // Fails the slot with `problem`.
  void Fail(const std::string& problem);
  bool failed() const { return !slot_->problems().empty(); }

 private:
  v1::SlotCheck unreported_;
  v1::SlotCheck* const slot_;
  v1::CaseCheck* case_ = nullptr;  // the last case; null: none yet
};

// Returns one line for each slot, and more for a slot that failed.
std::string CheckText(const v1::HostModuleCheck& check);

// Returns the document of -o json.
Json CheckDocument(const v1::HostModuleCheck& check);

// Returns the cases as a file of JUnit.
std::string JUnitText(const v1::HostModuleCheck& check);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_FINDINGS_H_
