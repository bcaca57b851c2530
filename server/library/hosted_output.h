// Output that local pullers request. The host must forward it to this server
// (PMIx Standard, chapter "Tools and Debuggers").
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

// A piece of output as the host delivers it.
struct DeliveredOutput {
  ProcId source;
  uint16_t channels = 0;
  Bytes data;
  bool complete = false;  // the channels are closed after this piece
};

// A puller sends reads, and each is answered when there is output. Each new
// puller causes a call of the host's function. When a channel of a namespace
// has no puller any more, another call with PMIX_IOF_STOP follows. Output is
// not kept for later pullers. Loop thread only.
class HostedOutput {
 public:
  using Answer =
      std::function<void(core::ClientId client, core::RequestId request,
                         int status, std::string payload)>;

  // All arguments outlive the object.
  HostedOutput(const canopy_server_module_t* module, Upcalls* upcalls,
               const HostedJobs* jobs, Answer answer)
      : module_(*module),
        upcalls_(*upcalls),
        jobs_(*jobs),
        answer_(std::move(answer)) {}

  // Handles a call of HostOp::kReadOutput. Its answer has the host's status or
  // one of these errors: kErrNotSupported if the host has no such function, or
  // if no channel or one of input is requested; kErrNoPermissions if the job
  // belongs to another user; kErrBadParam for a malformed call, for targets of
  // several jobs, for an invalid cursor, and if the previous read is pending;
  // kErrOutOfResource if there are too many pulls.
  void Read(const HostCaller& caller, const core::HostCallArrived& in);

  // Delivers output to the pullers. Returns kErrOutOfResource if the held
  // output exceeds its limit.
  int Deliver(const DeliveredOutput& output);
  // If `stopped` is true, holds back the output of a process on these channels
  // from now on; with a wildcard, the output of its job. If `stopped` is false,
  // forwards the output again, with all held output.
  void SetFlow(const ProcId& source, uint16_t channels, bool stopped);

  // Ends the pulls of a closed connection.
  void RemoveAll(core::ClientId client);
  // Ends the pulls of a namespace that has no more output.
  void DropJob(const std::string& nspace);

  size_t size() const { return pulls_.size(); }

 private:
  // Identifies a pull: the connection, the puller's number for it, and the
  // namespace.
  using Id = std::tuple<core::ClientId, uint64_t, std::string>;
  struct Pull {
    core::Puller puller;
    uint16_t channels = 0;
    std::optional<core::RequestId> reads;  // the pending read
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
  uint64_t epoch_ = 0;  // number of pullers so far
  std::set<Flow> stopped_;
  std::deque<DeliveredOutput> held_;
  size_t held_bytes_ = 0;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_OUTPUT_H_
