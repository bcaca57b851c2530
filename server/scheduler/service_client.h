// Calls the functions of a scheduler's HostModuleService. No other part of the
// agent uses gRPC for this service.
#ifndef CANOPY_SERVER_SCHEDULER_SERVICE_CLIENT_H_
#define CANOPY_SERVER_SCHEDULER_SERVICE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/contract/call_end.h"
#include "server/security/credentials.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// The infos of an answer.
using Results = google::protobuf::RepeatedPtrField<v1::Info>;

// A pending call. Dropping the reference does not end the call.
class Call {
 public:
  virtual ~Call() = default;
  // Cancels the call. Its end is still reported, possibly with an answer that
  // has already arrived.
  virtual void Cancel() = 0;
};
using CallPtr = std::shared_ptr<Call>;

class AttachCall : public Call {
 public:
  // Queues a message. It is lost if the stream ends first.
  virtual void Write(v1::AttachRequest message) = 0;
  // Returns true if a message is queued or being written.
  virtual bool writes() const = 0;
};

// Used on the loop thread, on which all callbacks are called. Each end is
// reported once, and never during a call of a function of this class. Deadlines
// are in milliseconds from now.
class ServiceClient {
 public:
  template <typename Reply>
  using Done = std::function<void(const CallEnd& end, const Reply& reply)>;

  // `address` is unix:PATH or HOST:PORT. Connections are not encrypted if only
  // this machine can reach the address. Otherwise they use `security`; an error
  // describes why `security` cannot be used. `token` is sent with every call,
  // except over a connection that others can read; empty: none. Connects at the
  // first call.
  static Result<std::unique_ptr<ServiceClient>> Make(
      EventLoop* loop, const std::string& address,
      const security::SecurityConfig& security, const std::string& token = "");
  // Cancels all calls, and waits for up to two seconds for their ends while
  // running the loop. No callback is called later.
  virtual ~ServiceClient() = default;

  // Returns false if a connection that served calls is lost or was closed. The
  // next call would open another connection, perhaps to another scheduler.
  virtual bool connected() const = 0;

  // Sends the first call of each connection. The call fails if a user other
  // than this process's user or root serves the address on this machine.
  virtual CallPtr Send(const v1::GetCapabilitiesRequest& request,
                       int64_t deadline_ms,
                       Done<v1::GetCapabilitiesResponse> done) = 0;
  virtual CallPtr Send(const v1::JobLaunchedRequest& request,
                       int64_t deadline_ms,
                       Done<v1::JobLaunchedResponse> done) = 0;
  virtual CallPtr Send(const v1::JobReleasedRequest& request,
                       int64_t deadline_ms,
                       Done<v1::JobReleasedResponse> done) = 0;
  virtual CallPtr Send(const v1::AllocateRequest& request, int64_t deadline_ms,
                       Done<Results> done) = 0;
  virtual CallPtr Send(const v1::ControlSessionRequest& request,
                       int64_t deadline_ms, Done<Results> done) = 0;
  virtual CallPtr Send(const v1::BlockResourcesRequest& request,
                       int64_t deadline_ms, Done<Results> done) = 0;
  virtual CallPtr Send(const v1::LogRequest& request, int64_t deadline_ms,
                       Done<Results> done) = 0;
  virtual CallPtr Send(const v1::MonitorRequest& request, int64_t deadline_ms,
                       Done<Results> done) = 0;
  virtual CallPtr Send(const v1::GetCredentialRequest& request,
                       int64_t deadline_ms, Done<Results> done) = 0;
  virtual CallPtr Send(const v1::ValidateCredentialRequest& request,
                       int64_t deadline_ms, Done<Results> done) = 0;
  virtual CallPtr Send(const v1::QueryRequest& request, int64_t deadline_ms,
                       Done<Results> done) = 0;
  virtual CallPtr Send(const v1::ConnectToolRequest& request,
                       int64_t deadline_ms, Done<Results> done) = 0;

  // Requests a placement. `on_update` may be called several times before the
  // one `on_end`.
  virtual CallPtr Place(
      const v1::PlaceJobRequest& request, int64_t deadline_ms,
      std::function<void(const v1::PlaceJobResponse& update)> on_update,
      std::function<void(const CallEnd& end)> on_end) = 0;
  // Opens the stream of reports and commands; it has no deadline.
  virtual std::shared_ptr<AttachCall> Attach(
      std::function<void(const v1::AttachResponse& message)> on_message,
      std::function<void(const CallEnd& end)> on_end) = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_SERVICE_CLIENT_H_
