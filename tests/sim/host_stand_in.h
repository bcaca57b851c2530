// A stand-in for the host, which decides calls of processes, with all faults
// that a host may have.
#ifndef CANOPY_TESTS_SIM_HOST_STAND_IN_H_
#define CANOPY_TESTS_SIM_HOST_STAND_IN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/host.h"
#include "server/core/step/job_actions.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/membership.h"
#include "tests/sim/random.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// How the host handles a call.
enum class Manner : uint8_t {
  kPrompt,
  kLate,
  kTwice,      // the second answer has another status
  kRefuses,    // answers with an error status of its own
  kMalformed,  // the port turns the answer into an error
  kStray,      // first sends an answer without a call
  kStale,      // late, and therefore to a successor of the calling agent
  kNever,      // the port gives up when the call's time has passed
  kAway,       // the host goes away, and answers no call until it is back
};
inline constexpr size_t kNumManners = 9;

// A deliberate fault of the agent, to test that it is detected.
enum class Sabotage : uint8_t {
  kNone,
  kForgetsIdentity,  // a successor repeats a request under another number
  kReusesNumbers,    // a successor numbers its calls from the start again
  kLosesAnswers,
};

inline constexpr TimeNs kHostPatience = 60'000 * kMs;

// Decides each call once, by its identity, and reports an error if one call
// arrives under two identities or two calls under one. By the port's contract,
// an answer comes once, to the agent that made the call, while the caller's job
// exists. The core itself, however, gets some answers twice, late or
// unrequested. Draws random numbers only for calls.
class HostStandIn {
 public:
  struct Call {
    core::AskHost ask;  // the call as first received
    Manner manner = Manner::kPrompt;
    int status = 0;
    std::string results;
    uint32_t asked = 0;  // number of times that the call has arrived
  };
  using Manners = std::function<Manner(const core::AskHost&)>;

  // All references must outlive this object.
  HostStandIn(const Settings& settings, EventQueue& queue,
              const Membership& members, AgentInputs& inputs, Random& random,
              Errors& errors);

  // Sets how the host handles calls that first arrive from now on; the default
  // is kPrompt.
  void set_manners(Manners manners) { manners_ = std::move(manners); }
  void set_sabotage(Sabotage sabotage) { sabotage_ = sabotage; }

  void On(NodeId node, core::AskHost& a);
  void On(NodeId node, core::DropJob& a);
  // Called when the agent is lost or restarted. Forgets the agent's open calls.
  void LoseAgent(NodeId node);

  // Returns the call with these bytes, which are unique; null if it has not
  // arrived.
  const Call* Find(const Bytes& call) const;
  bool is_away() const;

 private:
  using Identity = std::pair<ProcId, uint64_t>;
  using Question = std::pair<NodeId, uint64_t>;  // agent, number

  Call& Note(const core::AskHost& ask);
  void Decide(Call* call);
  void Treat(NodeId node, uint64_t number, const Call& call);
  void AnswerIn(TimeNs delay, NodeId node, uint64_t number, const Call& call);
  void AnswerStale(TimeNs delay, NodeId node, uint64_t number);
  void Answer(NodeId node, uint64_t number, const Call& call);

  const Settings& settings_;
  EventQueue& queue_;
  const Membership& members_;
  AgentInputs& inputs_;
  Random& random_;
  Errors& errors_;
  Manners manners_;
  Sabotage sabotage_ = Sabotage::kNone;
  std::map<Identity, Call> calls_;
  std::map<std::string, Identity> identities_;  // by the bytes of the call
  std::map<Question, std::string> open_;        // the caller's job
  TimeNs back_ = 0;  // time when the host is back, if it is away
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_HOST_STAND_IN_H_
