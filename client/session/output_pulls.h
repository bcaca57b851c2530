// The pullers of one process. Each reads output of the jobs that it names, and
// sends its next read when its callback has consumed the output of the previous
// read.
#ifndef CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_
#define CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/channel/channel.h"
#include "client/channel/progress.h"
#include "client/session/pulled_output.h"
#include "common/ids.h"
#include "common/iof_call.h"
#include "common/mutex.h"

namespace canopy::client {

// The request of one puller.
struct PullSpec {
  std::vector<ProcId> procs;  // processes of one or several jobs
  OutputRead read;            // without a handle and a cursor
  PulledOutputOptions output;
};

// Data that a puller has read.
struct PulledPiece {
  ProcId source;  // a wildcard rank: the job has no more output
  uint16_t channel = 0;
  std::string_view data;
  bool closed = false;
  uint64_t dropped = 0;  // bytes that were dropped before `data`
  int failure = 0;       // status at the end of a job's output
};

// Receives the data that a puller reads, on the progress thread, one call at a
// time.
using PullReceiver =
    std::function<void(size_t handle, const PulledPiece& piece)>;

// Output that cannot be read any more, and the reason.
struct PullFailure {
  std::vector<ProcId> procs;  // of one job
  uint16_t channels = 0;
  int status = 0;
};

// Thread-safe. Reads in progress keep a puller alive, but not this object.
class OutputPulls {
 public:
  // Sends a request to the agent (Channel::CallAsync), as long as the puller
  // exists.
  using Caller = std::function<int(std::string_view payload, Channel::Done)>;
  // Starts a puller. `registered` gets the status of the first reads of all
  // jobs on the progress thread: success, or the first error, after which the
  // puller does not exist. If Start returns an error, no callback is called.
  // `receiver` may be empty.
  using Registered = std::function<void(int status, size_t handle)>;
  struct Callbacks {
    PullReceiver receiver;
    Registered registered;
    // Called once for each job whose output cannot be read to its end, before
    // the receiver gets that end. Runs on the progress thread.
    std::function<void(const PullFailure&)> failed;
  };
  int Start(Progress* progress, Caller call, PullSpec spec,
            Callbacks callbacks);

  // Ends a puller: its receiver gets the held output on the progress thread,
  // and then `done` is called. Returns false if there is no such puller.
  bool Stop(Progress* progress, size_t handle,
            std::function<void(int status)> done);

  // Called when the process leaves its servers. From then on, failed reads are
  // not reported.
  void Leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }

  // Drops all pullers, because the progress thread has stopped.
  void Clear();

 private:
  struct Flow;
  struct Pull;
  using PullRef = std::shared_ptr<Pull>;

  static std::string Payload(const Pull& pull, const Flow& flow, bool ends);
  void Read(const PullRef& pull, size_t flow);
  void OnRead(const PullRef& pull, size_t flow, const Reply& reply);
  void OnRegistered(const PullRef& pull, size_t flow, const Reply& reply);
  static void Deliver(Pull& pull, Flow* flow, const OutputRun& run);
  void Fail(const PullRef& pull, size_t flow, int status);
  void Conclude(const PullRef& pull, size_t flow, int failure);
  static void HoldForATime(const PullRef& pull);
  void End(const PullRef& pull, size_t flow);
  void Forget(size_t handle);

  std::atomic<bool> leaving_{false};
  Mutex mu_;
  size_t last_ CANOPY_GUARDED_BY(mu_) = 0;
  std::map<size_t, PullRef> pulls_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_
