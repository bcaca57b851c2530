// A host whose scheduler decides the requests of processes.
#ifndef CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_
#define CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/core/step/host.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"
#include "server/scheduler/backoff.h"
#include "server/scheduler/link.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {

// Requests that the scheduler does not implement get kErrNotSupported, or the
// agent's own host decides them (Options::fallback). If the scheduler is
// unreachable, calls are repeated when it is reachable again, until their time
// limit: PMIX_TIMEOUT, else kDefaultMs, or kQueryMs for queries. Loop thread
// only.
class SchedulerHost : public HostPort {
 public:
  struct Options {
    EventLoop* loop = nullptr;
    Link* link = nullptr;  // these objects outlive this one
    InputSink* sink = nullptr;
    HostPort* embedded = nullptr;
    // If true, the embedded host decides requests that the scheduler does not
    // implement.
    bool fallback = false;
    // The user and group of this agent, which are reported to the scheduler as
    // those of a tool.
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint64_t incarnation = 0;  // makes the names of calls unique
    int64_t tool_ms = 10'000;  // time limit for the decision about a tool
  };
  static constexpr int64_t kDefaultMs = 60'000;
  static constexpr int64_t kQueryMs = 10'000;
  // The limit of undecided tools; further tools are rejected
  // (kErrResourceBusy).
  static constexpr size_t kMaxTools = 256;

  explicit SchedulerHost(Options options);
  ~SchedulerHost() override;
  SchedulerHost(const SchedulerHost&) = delete;
  SchedulerHost& operator=(const SchedulerHost&) = delete;

  void Ask(const core::AskHost& request) override;
  // Requests a decision about a tool. Rejects the tool with kErrTimeout after
  // Options::tool_ms, with kErrUnreach if the scheduler is unreachable then,
  // and with kErrResourceBusy if kMaxTools are undecided. While the scheduler
  // is unreachable, tools are accepted if it formerly did not decide about
  // them.
  void AskAboutTool(const ArrivingTool& tool,
                    std::function<void(const Status&)> done) override;
  void DropJob(const std::string& nspace) override;

 private:
  struct Tool {
    bool elsewhere = false;
    std::function<void(const Status&)> done;
  };
  struct Pending {
    core::AskHost request;  // for a tool: its identity, and a number of its own
    std::optional<Tool> tool = {};  // the tool to decide about
    int64_t deadline = 0;           // EventLoop::Now()
    EventLoop::TimerId timer = 0;
    CallPtr call = {};            // null: the call must be made (again)
    uint64_t number = 0;          // number of the last call
    Backoff backoff = Backoff();  // after calls that may be repeated
  };
  using Sent = Result<CallPtr>;

  void AnswerWhatItServes(uint64_t request);
  void Begin(Pending pending, int64_t limit_ms);
  void OnUp();
  static v1::Feature FeatureOf(const Pending& pending);
  void Send(Pending* pending);
  // Returns kErrUnpackFailure if the process's call is malformed, and
  // kErrNotSupported for an operation that schedulers do not have.
  Sent SendCall(const Pending& pending);
  v1::HostCall CallOf(const core::AskHost& request) const;
  ServiceClient::Done<Results> Done(uint64_t request, uint64_t call);
  void OnReply(uint64_t request, uint64_t call, const CallEnd& end,
               const Results& results);
  void OnError(uint64_t request, const CallEnd& end);
  void SendAgain(uint64_t request, uint64_t call);
  void OnTimeout(uint64_t request);
  void Answer(uint64_t request, const Status& status, Bytes results);
  void Unsupported(uint64_t request, const std::string& why);

  const Options options_;
  std::map<uint64_t, Pending> pending_;  // key: the request's number
  uint64_t next_call_ = 1;
  uint64_t next_tool_ = 0;
  size_t num_tools_ = 0;  // among the pending requests
  // True if the scheduler decides about tools; no value before the scheduler
  // was ever reachable.
  std::optional<bool> decides_tools_;
  // False after the destruction of this object; shared with timers.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_
