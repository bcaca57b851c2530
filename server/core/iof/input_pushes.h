// PMIx_IOF_push at the job's controller: input for the processes of the job,
// answered when they have consumed it (docs/design/output_forwarding.md).
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
#include "server/core/step/step_context.h"

namespace canopy::core {

// Maximum number of pushed bytes of a job that are not consumed yet; more fail
// with kErrOutOfResource.
inline constexpr uint64_t kMaxPushed = uint64_t{16} << 20;

// Number of answered pushes of a job that are recorded to recognise
// repetitions.
inline constexpr size_t kPushesKept = 1024;

// All pushes to a job form one input stream, for one rank or for all; the
// stream ends once. A push that is repeated because an agent on its path was
// lost is delivered once. Not synchronised.
class InputPushes {
 public:
  // The receiver of an answer.
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

  // Both arguments outlive this object.
  InputPushes(const JobTable& jobs, JobEngine& engine)
      : jobs_(jobs), engine_(engine) {}

  // Handles a push. Returns its status, or no value if the answer follows
  // later. Errors: kErrBadParam for a malformed or empty push, kErrNotFound for
  // an unknown job, kErrNoPermissions for a job of another user,
  // kErrNotSupported if input may not be pushed to the job or to these targets,
  // kErrIofComplete if the input has ended, kErrOutOfResource if too much is
  // pending.
  std::optional<int> OnRequest(const StepContext& step, NodeId src,
                               const HostRequest& request);
  // Called when the processes of the job have consumed `bytes` more bytes of
  // input.
  void OnTaken(const std::string& nspace, uint64_t bytes);
  void OnJobRemoved(const std::string& nspace);
  void OnNodeLost(NodeId node);

  // Removes and returns the answers since the last call.
  std::vector<Answer> TakeAnswers() { return std::exchange(answers_, {}); }
  // Returns the number of pushes without an answer.
  size_t size() const;

 private:
  struct Pending {
    Pusher pusher;
    uint64_t end = 0;  // end position in the job's input
  };
  struct Input {
    std::deque<Pending> pending;
    // More than the last number is kept, because numbers need not grow from one
    // process of a rank to the next, or from one tool to the next tool of the
    // same name.
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
