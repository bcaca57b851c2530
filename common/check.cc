#include "common/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace canopy {
namespace {

// Bounds the reports, because a check that fails in a loop must not fill a log.
constexpr int kMaxReports = 20;

}  // namespace

// Weak, so that the linker makes the choice. A choice at run time could come
// too late for a check in a static initialiser.
[[gnu::weak]] bool FailedChecksEndProgram() { return true; }

[[gnu::cold]] bool CheckFailed(const char* condition, const char* file,
                               int line) {
  static std::atomic<int> reports{0};
  if (reports.fetch_add(1, std::memory_order_relaxed) < kMaxReports) {
    fprintf(stderr, "canopy: %s:%d: check failed: %s\n", file, line, condition);
  }
  if (FailedChecksEndProgram()) abort();
  return false;
}

}  // namespace canopy
