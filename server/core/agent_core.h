// AgentCore: the thinking part of an agent. No socket, thread, lock, file or
// clock; one call takes what happened and returns what is to be done.
#ifndef CANOPY_SERVER_CORE_AGENT_CORE_H_
#define CANOPY_SERVER_CORE_AGENT_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/action.h"
#include "server/core/step/input.h"

namespace canopy::core {

struct CoreConfig {
  NodeId self = 0;
  std::vector<std::string> node_names;  // index = NodeId
  uint32_t radix = 32;
  // Give out Remember actions: another agent may go on in this one's place.
  bool remembers = false;
  // When this agent began, anew or in the place of another one of its node;
  // kNever: nobody has anything to tell it.
  TimeNs began_at = kNever;
  // Handed out with this agent's state (why.h) and otherwise not looked at:
  // what the agent's main wants to tell about itself.
  std::string about;
};

// How much an agent holds, by kind. What belongs to a job goes with the job: an
// agent that knows no job and has no client has zero everywhere.
struct Census {
  size_t jobs = 0;         // whose map is here
  size_t launched = 0;     // of them, those that this agent has a part in
  size_t clients = 0;      // connected processes and tools
  size_t collectives = 0;  // sets of participants
  size_t connections = 0;  // sets that are connected
  size_t deadlines = 0;    // of collectives
  size_t gets = 0;         // held for clients and other agents
  size_t fetches = 0;      // direct modex under way
  size_t modex_jobs = 0;   // jobs with committed data
  size_t map_requests = 0;
  size_t aborts = 0;  // that the job's controller may not have heard of
  size_t questions = 0;
  size_t listeners = 0;  // clients that want events

  auto operator<=>(const Census&) const = default;
};

// Owned and called by one loop thread. Deterministic: the same inputs at the
// same times give the same actions.
class AgentCore {
 public:
  explicit AgentCore(CoreConfig config);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  Actions Step(TimeNs now, Input input);
  Census Count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_AGENT_CORE_H_
