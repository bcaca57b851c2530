// The scheduler decides what processes ask of the host.
#ifndef CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_
#define CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "protos/host_module.pb.h"
#include "server/core/step/host.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"
#include "server/scheduler/link.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {

// What the scheduler does not implement is kErrNotSupported, or the agent's own
// host decides it. Calls are asked again when the scheduler has come back,
// until their time is over: PMIX_TIMEOUT, else kDefaultMs, or kQueryMs of
// queries. Loop thread only.
class SchedulerHost : public HostPort {
 public:
  struct Options {
    EventLoop* loop = nullptr;
    Link* link = nullptr;  // all of these outlive it
    InputSink* sink = nullptr;
    HostPort* embedded = nullptr;
    bool fallback = false;  // to the embedded one
    // This agent's, which is that of tools.
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint64_t incarnation = 0;  // so that names of calls come but once
    int64_t tool_ms = 10'000;  // how long a tool waits
  };
  static constexpr int64_t kDefaultMs = 60'000;
  static constexpr int64_t kQueryMs = 10'000;
  // That are asked about at a time; more are refused (kErrResourceBusy).
  static constexpr size_t kMaxTools = 256;

  explicit SchedulerHost(Options options);
  ~SchedulerHost() override;
  SchedulerHost(const SchedulerHost&) = delete;
  SchedulerHost& operator=(const SchedulerHost&) = delete;

  void Ask(const core::AskHost& request) override;
  // Refused with kErrTimeout after Options::tool_ms, or with kErrUnreach when
  // it is away.
  void AskAboutTool(const ArrivingTool& tool,
                    std::function<void(const Status&)> done) override;
  void DropJob(const std::string& nspace) override;

 private:
  struct Tool {
    bool elsewhere = false;
    std::function<void(const Status&)> done;
  };
  struct Pending {
    core::AskHost request;          // of a tool: who, and a number of its own
    std::optional<Tool> tool = {};  // that it is about
    int64_t deadline = 0;           // EventLoop::Now()
    EventLoop::TimerId timer = 0;
    CallPtr call = {};    // null: it has to be asked (again)
    uint64_t number = 0;  // of the call
  };
  using Sent = Result<CallPtr>;

  void AnswerWhatItServes(uint64_t request);
  void Begin(Pending pending, int64_t limit_ms);
  void OnUp();
  static v1::Slot SlotOf(const Pending& pending);
  void Send(Pending* pending);
  // kErrUnpackFailure: the process's call is malformed.
  Sent SendCall(const Pending& pending);
  v1::HostCall CallOf(const core::AskHost& request) const;
  ServiceClient::Done<v1::HostReply> Done(uint64_t request, uint64_t call);
  void OnReply(uint64_t request, uint64_t call, const CallEnd& end,
               const v1::HostReply& reply);
  void OnTimeout(uint64_t request);
  void Answer(uint64_t request, const Status& status, Bytes results);
  void Unsupported(uint64_t request);

  const Options options_;
  std::map<uint64_t, Pending> pending_;  // by the request's number
  uint64_t next_call_ = 1;
  uint64_t next_tool_ = 0;
  size_t num_tools_ = 0;  // of those pending
  // Whether it decides about tools; nothing: it has never been there.
  std::optional<bool> decides_tools_;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_SCHEDULER_HOST_H_
