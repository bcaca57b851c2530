// Requests the state of every agent, and collects the replies.
#ifndef CANOPY_SERVER_CONTROL_STATE_COLLECTOR_H_
#define CANOPY_SERVER_CONTROL_STATE_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Loop thread only.
class StateCollector {
 public:
  using Done = std::function<void(const std::vector<core::StateCollected>&)>;

  void set_sink(InputSink* sink) { sink_ = sink; }
  // Requests the state of the jobs, or only of the job `nspace` if it is not
  // empty. With "why" as `what`, the replies contain the operations that wait.
  // `done` receives the replies, this agent's first and the others in the order
  // of their arrival. Agents that are lost or do not answer in time have no
  // reply. A request that is the same as one in progress gets the replies to
  // that one, because every agent is asked for each: many callers who ask at
  // the same time cost no more than one.
  void Collect(const std::string& what, const std::string& nspace, Done done);
  // Handles one reply, or the end of a collection.
  void OnCollected(const core::StateCollected& state);

 private:
  using Subject = std::pair<std::string, std::string>;  // `what` and `nspace`
  struct Collection {
    Subject subject;
    std::vector<core::StateCollected> answers;
    std::vector<Done> done;
  };

  InputSink* sink_ = nullptr;
  std::map<uint64_t, Collection> collections_;
  std::map<Subject, uint64_t> in_progress_;
  uint64_t next_ = 1;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_STATE_COLLECTOR_H_
