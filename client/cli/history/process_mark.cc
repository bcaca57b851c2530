#include "client/cli/history/process_mark.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "client/cli/base/file_util.h"
#include "common/posix/boot_id.h"
#include "common/posix/host_name.h"
#include "common/status.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxStat = 4096;
// The places of fields in /proc/PID/stat, after the name in parentheses, which
// may contain anything.
constexpr size_t kStateField = 0;
constexpr size_t kStartField = 19;

// Returns the start of the process, or 0 if it has ended.
int64_t StartOf(int64_t pid) {
  const Result<std::string> stat =
      ReadFile("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  if (!stat.ok() || stat->rfind(')') == std::string::npos) return 0;
  const size_t name_end = stat->rfind(')') + 1;
  const std::vector<std::string> fields =
      Split(Trim(stat->substr(name_end)), ' ');
  if (fields.size() <= kStartField || fields[kStateField] == "Z") return 0;
  return std::atoll(fields[kStartField].c_str());
}

}  // namespace

ProcessMark MarkOfThisProcess() {
  return {LocalHostName(), BootId(), getpid(), StartOf(getpid())};
}

ProcessState StateOf(const ProcessMark& mark) {
  if (mark.host != LocalHostName()) return ProcessState::kElsewhere;
  const bool runs = mark.boot == BootId() && StartOf(mark.pid) == mark.start;
  return runs ? ProcessState::kRuns : ProcessState::kEnded;
}

}  // namespace canopy::cli
