// AgentCore: the deterministic state machine of an agent. No socket, thread,
// lock, file or clock; one call takes an input and returns the actions it
// causes.
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
  // The root is the host of this agent and has a say in every collective, also
  // one of processes of this node alone.
  bool host_is_root = false;
  // Emit PersistRecord actions: a successor may recover this agent's jobs.
  bool persists = false;
  // When this agent started, newly or as a predecessor's successor; kNever: no
  // other agent has state to resynchronise with it.
  TimeNs began_at = kNever;
  // Whose ranks are the agents, as PMIx servers.
  std::string server_nspace = "canopy-agent";
  // Returned with this agent's state (why.h) and not interpreted here: a
  // self-description supplied by the agent's main.
  std::string about;
};

// Resources held by an agent, by kind. Those of a job are released with the
// job: an agent that knows no job and has no client has zero everywhere, once
// the others have told it what has ended. (What was published to outlive its
// job is not counted.)
struct ResourceCounts {
  size_t jobs = 0;         // whose map is here
  size_t launched = 0;     // of them, those that this agent has a part in
  size_t clients = 0;      // connected processes and tools
  size_t collectives = 0;  // collective series
  size_t connections = 0;  // connected participant lists
  size_t groups = 0;       // process groups with members here
  size_t deadlines = 0;    // of collectives
  size_t gets = 0;         // held for clients and other agents
  size_t fetches = 0;      // direct modex under way
  size_t modex_jobs = 0;   // jobs with committed data
  size_t modex_keys = 0;   // in the indices of gets with rank UNDEF
  size_t map_requests = 0;
  size_t aborts = 0;  // not known to have reached the job's controller
  size_t spawns = 0;  // requests held or executed
  size_t questions = 0;
  size_t queries = 0;     // calls under way, and measurements for other agents
  size_t host_calls = 0;  // under way, and their targets
  size_t forwarding = 0;  // pullers, and reads of output under way
  size_t listeners = 0;   // clients with event handlers
  size_t process_sets = 0;
  size_t publications = 0;  // but for those that outlive their jobs
  size_t publishing = 0;    // publishes, lookups and unpublishes under way

  auto operator<=>(const ResourceCounts&) const = default;
};

// Owned and called by one loop thread. Deterministic: the same inputs at the
// same times give the same actions.
class AgentCore {
 public:
  explicit AgentCore(CoreConfig config);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  Actions Step(TimeNs now, const Input& input);
  ResourceCounts Count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_AGENT_CORE_H_
