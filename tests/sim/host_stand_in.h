// Stand-in for the host: whoever decides what processes ask, at its worst.
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

// How the host treats a call.
enum class Manner : uint8_t {
  kPrompt,
  kLate,
  kTwice,      // the second time with another status
  kRefuses,    // with a status of its own
  kMalformed,  // what it says, the port makes an error of
  kStray,      // before, it answers what nobody has asked
  kStale,      // late, and so to a successor of the agent that has asked
  kNever,      // the port gives up when the call's time is over
  kAway,       // it goes away, and answers nobody until it is back
};
inline constexpr size_t kNumManners = 9;

// A fault of an agent's own, so that it can be seen whether it is found.
enum class Sabotage : uint8_t {
  kNone,
  kForgetsIdentity,  // a successor asks under another number of the request
  kReusesNumbers,    // a successor counts its questions as its predecessor did
  kLosesAnswers,
};

inline constexpr TimeNs kHostPatience = 60'000 * kMs;

// Decides each call once, by what identifies it, and complains when one comes
// under two identities or two come under one. As the port's contract is, an
// answer comes to the agent that has asked, once, while the job of who asks is
// there; but to the core itself some answers come twice, late or unasked. Draws
// nothing when nobody asks.
class HostStandIn {
 public:
  struct Call {
    core::AskHost ask;  // as it came first
    Manner manner = Manner::kPrompt;
    int status = 0;
    std::string results;
    uint32_t asked = 0;  // how often
  };
  using Manners = std::function<Manner(const core::AskHost&)>;

  // All must outlive it.
  HostStandIn(const Settings& settings, EventQueue& queue,
              const Membership& members, AgentInputs& inputs, Random& random,
              Errors& errors);

  // Of calls that come from now on for the first time; else prompt.
  void set_manners(Manners manners) { manners_ = std::move(manners); }
  void set_sabotage(Sabotage sabotage) { sabotage_ = sabotage; }

  void On(NodeId node, core::AskHost& a);
  void On(NodeId node, core::DropJob& a);
  // It is lost or restarted: what it has asked is over.
  void LoseAgent(NodeId node);

  // The call with these bytes, which no other has. Null: it has not come.
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
  std::map<Question, std::string> open_;        // the asking job
  TimeNs back_ = 0;                             // when it is, if it is away
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_HOST_STAND_IN_H_
