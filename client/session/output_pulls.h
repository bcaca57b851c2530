// The pullers of one process: each reads output of the jobs that it names, one
// read after the other, as fast as its callback takes it.
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

// What one puller is asked for.
struct PullSpec {
  std::vector<ProcId> procs;  // of one or several jobs
  OutputRead read;            // without a handle and a cursor
  PulledOutputOptions output;
};

// A part of what a puller reads.
struct PulledPiece {
  ProcId source;  // rank wildcard, closed and no data: all of that job
  uint16_t channel = 0;
  std::string_view data;
  bool closed = false;
  uint64_t dropped = 0;  // bytes that are missing before
  int failure = 0;       // of the end of a job's output: why nothing follows
};

// Gets what a puller reads: on the progress thread, one call at a time.
using PullReceiver =
    std::function<void(size_t handle, const PulledPiece& piece)>;

// What can not be read any more, and why.
struct PullFailure {
  std::vector<ProcId> procs;  // of one job
  uint16_t channels = 0;
  int status = 0;
};

// Thread-safe. What is under way keeps a puller alive, but not this.
class OutputPulls {
 public:
  // Asks the agent (Channel::CallAsync), as long as there is the puller.
  using Caller = std::function<int(std::string_view payload, Channel::Done)>;
  // `registered` is told, on the progress thread, the status of the first
  // read: of all jobs, or the first error, and then there is no puller. An
  // error that is returned: none of these is called. `receiver` may be empty.
  using Registered = std::function<void(int status, size_t handle)>;
  struct Callbacks {
    PullReceiver receiver;
    Registered registered;
    // Once for each job whose output can not be read to its end, before the
    // receiver is told of that end. On the progress thread.
    std::function<void(const PullFailure&)> failed;
  };
  int Start(Progress* progress, Caller call, PullSpec spec,
            Callbacks callbacks);

  // Ends it: its receiver gets what is held, on the progress thread, and then
  // `done` is called. False: there is none.
  bool Stop(Progress* progress, size_t handle,
            std::function<void(int status)> done);

  // The process leaves its servers: that reads fail is no failure from now on.
  void Leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }

  // The progress has stopped: nothing more is done for any of them.
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
