// The options of a simulated cluster, and the hooks of a test.
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

// Whether agents persist the state that a successor recovers, so that they may
// be restarted.
enum class Persistence : uint8_t { kOff, kOn };

// Options may change at any time.
struct Options {
  // The maximum delay of a message; greater than 0. Messages between two agents
  // stay in order.
  TimeNs max_delay = 1 * kMs;
  // Messages overtake earlier ones between the same two agents with a
  // probability of 1 / n; 0: never. Only data overtakes: collectives, direct
  // modex, events and state queries, as with the overlay's priorities.
  uint32_t overtaking = 0;
  // Messages are delivered twice with a probability of 1 / n, the second time
  // with up to ten times the delay; 0: never. Messages of streams are not
  // duplicated, because links number every packet.
  uint32_t duplicates = 0;
  // The number of lines that a process writes at its end, when it closes its
  // streams; 0: it has no streams.
  uint32_t lines = 0;
  // If true, a process that writes no lines closes its streams at its end, too.
  bool closes_streams = false;
  // The maximum time that killed processes take to end.
  TimeNs kill_delay = 0;
  // If true, killed processes survive, for tests that do not test the policy.
  bool ignore_kills = false;
  // If true, agents that control jobs raise the jobs' lifecycle events, as the
  // control service does.
  bool announces_jobs = false;
  // If true, checks that each step forwards a release before the first reply;
  // for tests in which no step completes more than one collective.
  bool one_release_a_step = false;
  // If agents persist: the maximum time that an answer takes from an agent to
  // its client. The answer is lost if the agent is restarted meanwhile, and the
  // client repeats its request.
  TimeNs answer_delay = 0;
  // If true, writes every step to standard error.
  bool trace = false;
};

// Each hook may be empty. Hooks are called from inside of the cluster, so they
// may post events, but must not run the cluster or inject faults.
struct Hooks {
  // Called when a process was started; the hook's owner simulates it.
  std::function<void(const ProcId&)> on_start;
  // Called when a process has ended in any way.
  std::function<void(const ProcId&)> on_exit;
  // Called when a process has read some of its pushed input.
  std::function<void(const ProcId&, std::string_view)> on_pushed_input;
  // Called when a member that was removed leaves, before its processes end.
  std::function<void(NodeId)> on_leave;
  // Called when the end of standard input has reached a process.
  std::function<void(const ProcId&)> on_input_end;
  // Called when a process makes a request, or repeats one after it has
  // reattached (`again`).
  std::function<void(const ProcId&, RequestId, const core::Input&, bool again)>
      on_request;
  // Called when a request was answered.
  std::function<void(RequestId)> on_answer;
  // Called when a process is notified of an event that is new to it: with the
  // event's status, source and infos.
  std::function<void(const ProcId&, int, const ProcId&, const Bytes&)>
      on_notice;
  // Called before a step, and after it, when its actions have not been executed
  // yet.
  std::function<void(NodeId, const core::Input&)> on_input;
  std::function<void(NodeId, const core::Actions&)> on_actions;
  // Called after every step of every core.
  std::function<void()> after_step;
};

struct Settings {
  const bool persists = false;
  Options options = {};
  Hooks hooks = {};
};

// Violations of rules; empty if there are none.
using Errors = std::vector<std::string>;

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SETTINGS_H_
