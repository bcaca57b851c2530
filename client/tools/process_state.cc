#include "client/tools/process_state.h"

#include <algorithm>
#include <iterator>

namespace canopy::tools {
namespace {

struct StateText {
  pmix_proc_state_t state;
  const char* text;
};

constexpr StateText kStateTexts[] = {
    {PMIX_PROC_STATE_PREPPED, "preparing"},
    {PMIX_PROC_STATE_LAUNCH_UNDERWAY, "starting"},
    {PMIX_PROC_STATE_RESTART, "restarting"},
    {PMIX_PROC_STATE_TERMINATE, "ending"},
    {PMIX_PROC_STATE_RUNNING, "running"},
    {PMIX_PROC_STATE_CONNECTED, "in MPI"},
    {PMIX_PROC_STATE_KILLED_BY_CMD, "killed"},
    {PMIX_PROC_STATE_ABORTED, "failed"},
    {PMIX_PROC_STATE_FAILED_TO_START, "not started"},
    {PMIX_PROC_STATE_FAILED_TO_LAUNCH, "not started"},
    {PMIX_PROC_STATE_ABORTED_BY_SIG, "killed by a signal"},
    {PMIX_PROC_STATE_TERM_WO_SYNC, "left without finalize"},
    {PMIX_PROC_STATE_COMM_FAILED, "lost"},
    {PMIX_PROC_STATE_CALLED_ABORT, "aborted"},
    {PMIX_PROC_STATE_CANNOT_RESTART, "failed"},
};

}  // namespace

std::string StateText(const pmix_proc_info_t& process, char os_state) {
  const bool alive = process.state > PMIX_PROC_STATE_LAUNCH_UNDERWAY &&
                     process.state < PMIX_PROC_STATE_UNTERMINATED;
  if (alive && (os_state == 'T' || os_state == 't')) return "stopped";
  if (process.state == PMIX_PROC_STATE_TERMINATED ||
      process.state == PMIX_PROC_STATE_TERM_NON_ZERO) {
    return "exited " + std::to_string(process.exit_code);
  }
  const auto row =
      std::ranges::find(kStateTexts, process.state, &StateText::state);
  return row == std::end(kStateTexts) ? "unknown" : row->text;
}

}  // namespace canopy::tools
