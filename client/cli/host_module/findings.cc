#include "client/cli/host_module/findings.h"

#include <algorithm>

namespace canopy::cli {
namespace {

// One cause fails many expectations, so only the first ones are reported.
constexpr int kMaxProblems = 5;

}  // namespace

bool Findings::Expect(bool holds, const std::string& expected,
                      const std::string& got) {
  if (!holds) Fail("expected " + expected + "; got " + got);
  return holds;
}

void Findings::Fail(const std::string& problem) {
  slot_->set_result("failed");
  const auto& known = slot_->problems();
  if (known.size() >= kMaxProblems) return;
  if (std::ranges::find(known, problem) == known.end()) {
    slot_->add_problems(problem);
  }
}

std::string CheckText(const v1::HostModuleCheck& check) {
  constexpr size_t kColumn = 22;
  std::string text;
  for (const v1::SlotCheck& slot : check.slots()) {
    std::string line = slot.slot();
    line.resize(std::max(kColumn, line.size() + 2), ' ');
    line += slot.result() == "ok"       ? "OK"
            : slot.result() == "failed" ? "FAILED"
                                        : "NOT IMPLEMENTED";
    if (!slot.problems().empty()) line += "  " + slot.problems(0);
    text += line + "\n";
    for (int i = 1; i < slot.problems_size(); ++i) {
      text += std::string(kColumn + 8, ' ') + slot.problems(i) + "\n";
    }
  }
  return text;
}

}  // namespace canopy::cli
