// What a test chooses about a simulated cluster, and what it is called for.
#ifndef CANOPY_TESTS_SIM_SETTINGS_H_
#define CANOPY_TESTS_SIM_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/step/input.h"

namespace canopy::sim {

using core::ClientId;
using core::RequestId;
using core::TimeNs;

inline constexpr TimeNs kMs = 1'000'000;

// Whether agents persist what a successor recovers, so that they may be
// restarted.
enum class Persistence : uint8_t { kOff, kOn };

// May change at any time.
struct Options {
  // Messages take up to this long each; those of one pair stay in order.
  // Greater than 0.
  TimeNs max_delay = 1 * kMs;
  // With a chance of 1 in n, a message of one pair overtakes earlier ones; 0:
  // none does. Only data: collectives, direct modex, events and state queries,
  // as with the overlay's priorities.
  uint32_t overtaking = 0;
  // With a chance of 1 in n, a message comes twice, the second time up to ten
  // times as late; 0: none does. Streams do not: links number every packet.
  uint32_t duplicates = 0;
  // Lines that a process writes at its end, closing its streams; 0: it has
  // none.
  uint32_t lines = 0;
  // A process that writes no lines closes its streams at its end, too.
  bool closes_streams = false;
  // Processes that are killed take up to this long to end; 0: no time.
  TimeNs kill_delay = 0;
  // Processes survive being killed: what is tested is not the policy.
  bool ignore_kills = false;
  // Who controls jobs raises their lifecycle events, as the control service
  // does.
  bool announces_jobs = false;
  // No step ends more than one collective: then a release must be forwarded
  // before the first reply.
  bool one_release_a_step = false;
  // An answer takes up to this long from an agent that persists to its client,
  // and is lost when the agent is restarted meanwhile: the client asks again.
  // 0: no time.
  TimeNs answer_delay = 0;
  // Every step goes to standard error.
  bool trace = false;
};

// Each may be empty. Called from inside of the cluster: they may post events,
// and must not run the cluster or inject faults.
struct Hooks {
  // A process exists, for whoever plays it.
  std::function<void(const ProcId&)> on_start;
  // A process has ended, however.
  std::function<void(const ProcId&)> on_exit;
  // A process has read some of its input, which was pushed.
  std::function<void(const ProcId&, std::string_view)> on_pushed_input;
  // The end of standard input has come to a process.
  std::function<void(const ProcId&)> on_input_end;
  // A process makes a request, or repeats one after it has reattached.
  std::function<void(const ProcId&, RequestId, const core::Input&, bool again)>
      on_request;
  // A request was answered.
  std::function<void(RequestId)> on_answer;
  // A process is told of an event that it did not know: its status, source and
  // infos.
  std::function<void(const ProcId&, int, const ProcId&, const Bytes&)>
      on_notice;
  // Before a step, and after it: its actions have not been executed yet.
  std::function<void(NodeId, const core::Input&)> on_input;
  std::function<void(NodeId, const core::Actions&)> on_actions;
  // After every step of every core.
  std::function<void()> after_step;
};

struct Settings {
  const bool persists = false;
  Options options = {};
  Hooks hooks = {};
};

// What must never happen, and did. Empty: all is well.
using Errors = std::vector<std::string>;

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SETTINGS_H_
