// The pullers of one process: each reads output of the jobs that it names, one
// read after the other, as fast as its callback takes it.
#ifndef CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_
#define CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_

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

// Gets what a puller reads: on the progress thread, one call at a time.
// `dropped`: bytes that are missing before. `source` with rank wildcard,
// `closed` and no data: all of that job.
using PullReceiver =
    std::function<void(size_t handle, const ProcId& source, uint16_t channel,
                       std::string_view data, bool closed, uint64_t dropped)>;

// Thread-safe. What is under way keeps a puller alive, but not this.
class OutputPulls {
 public:
  // Asks the agent (Channel::CallAsync), as long as there is the puller.
  using Caller = std::function<int(std::string_view payload, Channel::Done)>;
  // `registered` is told, on the progress thread, the status of the first
  // read: of all jobs, or the first error, and then there is no puller. An
  // error that is returned: it is not called. `receiver` may be empty.
  using Registered = std::function<void(int status, size_t handle)>;
  int Start(Progress* progress, Caller call, PullSpec spec,
            PullReceiver receiver, Registered registered);

  // Ends it: its receiver gets what is held, on the progress thread, and then
  // `done` is called. False: there is none.
  bool Stop(Progress* progress, size_t handle,
            std::function<void(int status)> done);

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
  static void HoldForATime(const PullRef& pull);
  void End(const PullRef& pull, size_t flow);
  void Forget(size_t handle);

  Mutex mu_;
  size_t last_ CANOPY_GUARDED_BY(mu_) = 0;
  std::map<size_t, PullRef> pulls_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_OUTPUT_PULLS_H_
