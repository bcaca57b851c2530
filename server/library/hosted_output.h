// Output of processes for others that pull it: the host is asked to bring it to
// this server (PMIx Standard, chapter "Tools and Debuggers").
#ifndef CANOPY_SERVER_LIBRARY_HOSTED_OUTPUT_H_
#define CANOPY_SERVER_LIBRARY_HOSTED_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/iof_call.h"
#include "pmix_server.h"
#include "server/core/iof/puller.h"
#include "server/core/step/client_id.h"
#include "server/core/step/host.h"
#include "server/library/hosted_jobs.h"
#include "server/library/requestor.h"
#include "server/library/upcalls.h"

namespace canopy::library {

// One piece of output as the host delivers it.
struct DeliveredOutput {
  ProcId source;
  uint16_t channels = 0;
  Bytes data;
  bool complete = false;  // the channels are closed behind it
};

// Who pulls reads: each read is answered when there is output. A pull is a call
// of the host's function, and a second one, with PMIX_IOF_STOP, when nobody
// pulls that channel of the namespace any more. Nothing is kept for pullers
// that come later. Loop thread only.
class HostedOutput {
 public:
  using Answer =
      std::function<void(core::ClientId client, core::RequestId request,
                         int status, std::string payload)>;

  // All outlive it.
  HostedOutput(const canopy_server_module_t* module, Upcalls* upcalls,
               const HostedJobs* jobs, Answer answer)
      : module_(*module),
        upcalls_(*upcalls),
        jobs_(*jobs),
        answer_(std::move(answer)) {}

  // A call of HostOp::kReadOutput, which is answered: with the host's status;
  // kErrNotSupported where it has no function, and for input;
  // kErrNoPermissions: the job is another user's; kErrBadParam.
  void Read(const HostCaller& caller, const core::HostCallArrived& in);

  // kErrOutOfResource: more is held back than there is room for.
  int Deliver(const DeliveredOutput& output);
  // What a process (or, with a wildcard, a job) writes there is held back from
  // now on, or passed on again with all that was held back.
  void SetFlow(const ProcId& source, uint16_t channels, bool stopped);

  // Its connection ended.
  void RemoveAll(core::ClientId client);
  // The namespace has no more output.
  void DropJob(const std::string& nspace);

  size_t size() const { return pulls_.size(); }

 private:
  // The connection, its number of the puller, and whose output.
  using Id = std::tuple<core::ClientId, uint64_t, std::string>;
  struct Pull {
    core::Puller puller;
    uint16_t channels = 0;
    std::optional<core::RequestId> reads;  // has no answer yet
  };
  using Flow = std::pair<ProcId, uint16_t>;

  int Refusal(const HostCaller& caller, const core::HostCallArrived& in,
              OutputRead* read) const;
  void Begin(const Id& id, const HostCaller& caller,
             const core::HostCallArrived& in, const OutputRead& read);
  void OnBegun(const Id& id, core::RequestId request, int status);
  void End(const Id& id);
  void Stop(const std::string& nspace, uint16_t channels);
  void AnswerNews(const Id& id, Pull* pull);
  void Pass(const DeliveredOutput& output);
  bool IsStopped(const ProcId& source, uint16_t channels) const;

  const canopy_server_module_t& module_;
  Upcalls& upcalls_;
  const HostedJobs& jobs_;
  const Answer answer_;
  std::map<Id, Pull> pulls_;
  uint64_t epoch_ = 0;  // pullers so far
  std::set<Flow> stopped_;
  std::deque<DeliveredOutput> held_;
  size_t held_bytes_ = 0;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_OUTPUT_H_
