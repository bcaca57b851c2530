// PMIx_IOF_push at the agent that controls the job: input for its processes,
// answered when they have taken it (docs/design/output_forwarding.md).
#ifndef CANOPY_SERVER_CORE_IOF_INPUT_PUSHES_H_
#define CANOPY_SERVER_CORE_IOF_INPUT_PUSHES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/iof_call.h"
#include "common/recent_events.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Bytes of a job that are pushed and not taken; more are refused.
inline constexpr uint64_t kMaxPushed = uint64_t{16} << 20;

// Of a job, pushes that were answered and are known when they come again.
inline constexpr size_t kPushesKept = 1024;

// The input of a job is one stream, for one rank or for all, whoever pushes; it
// ends once. A push that comes again, because an agent on its way was lost, is
// given once. Not synchronised.
class InputPushes {
 public:
  // Who is answered.
  struct Pusher {
    NodeId node = kNoNode;
    ProcId proc;
    uint64_t request = 0;
  };
  struct Answer {
    Pusher pusher;
    std::string nspace;
    int status = 0;
  };

  // Both outlive it.
  InputPushes(const JobTable& jobs, JobEngine& engine)
      : jobs_(jobs), engine_(engine) {}

  // The status, unless it is answered later. kErrNotSupported: the job's input
  // is not pushed, or not to these; kErrIofComplete: it has ended;
  // kErrOutOfResource: too much is under way.
  std::optional<int> OnRequest(TimeNs now, NodeId src,
                               const HostRequest& request, Actions* actions);
  // Processes of the job have taken so much more.
  void OnTaken(const std::string& nspace, uint64_t bytes);
  void OnJobRemoved(const std::string& nspace);
  void OnNodeLost(NodeId node);

  // Since the last call.
  std::vector<Answer> TakeAnswers() { return std::exchange(answers_, {}); }
  // Pushes that are not answered.
  size_t size() const;

 private:
  struct Pending {
    Pusher pusher;
    uint64_t end = 0;  // of the job's input
  };
  struct Input {
    std::deque<Pending> pending;
    // Numbers need not grow from one process of a rank, or tool of a name, to
    // the next.
    RecentEvents answered{kPushesKept};
    uint64_t pushed = 0;
    uint64_t taken = 0;
    bool closed = false;
  };

  int Check(const HostRequest& request) const;
  static bool IsKnown(NodeId src, const HostRequest& request, Input* input,
                      bool* answered);
  void AnswerTaken(const std::string& nspace, Input* input);

  const JobTable& jobs_;
  JobEngine& engine_;
  std::map<std::string, Input> inputs_;
  std::vector<Answer> answers_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_INPUT_PUSHES_H_
