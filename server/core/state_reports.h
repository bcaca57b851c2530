// Requests the state of all agents, and answers such requests of others.
#ifndef CANOPY_SERVER_CORE_STATE_REPORTS_H_
#define CANOPY_SERVER_CORE_STATE_REPORTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/messages.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Time limit for an agent's answer, in nanoseconds.
inline constexpr TimeNs kStateTimeout = 3'000'000'000;

// Not synchronised. `tree` outlives this object.
class StateReports final : public Engine {
 public:
  // Returns this agent's own answer.
  using Describe = std::function<StateAnswer(
      TimeNs now, const std::string& what, const std::string& nspace)>;

  StateReports(NodeId self, const Tree& tree, Describe describe);

  // Emits a StateCollected for each answer, and a last one when every agent has
  // answered or is lost, or when the time limit has passed.
  void OnRequested(const StepContext& step, const StateRequested& in);
  void OnQuery(const StepContext& step, NodeId src, const StateQuery& query);
  void OnReply(const StepContext& step, NodeId src, const StateReply& reply);
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;
  void Count(ResourceCounts* counts) const override {
    counts->questions = num_questions();
  }
  size_t num_questions() const { return questions_.size(); }

 private:
  struct Question {
    uint64_t request = 0;  // numbered by the requester
    std::set<NodeId> awaited;
    TimeNs deadline = kNever;
  };

  static void Done(const StepContext& step, const Question& question);

  const NodeId self_;
  const Tree& tree_;
  const Describe describe_;
  std::map<uint64_t, Question> questions_;
  uint64_t next_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STATE_REPORTS_H_
