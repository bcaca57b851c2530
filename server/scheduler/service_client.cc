#include "server/scheduler/service_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <utility>

#include "common/mutex.h"
#include "protos/canopy/hostmodule/v1/host_module.grpc.pb.h"
#include "server/scheduler/callback_threads.h"
#include "server/scheduler/owner.h"
#include "server/security/identity.h"

namespace canopy::scheduler {
namespace {

constexpr int64_t kCallsEndNs = int64_t{2} * 1000 * 1000 * 1000;
constexpr int kStepMs = 10;
// The limit of the queued messages of one stream.
constexpr size_t kMaxQueued = 20'000;

// Passes work from gRPC's threads to the loop until the client is destroyed.
// Thread-safe.
class Gate {
 public:
  explicit Gate(EventLoop* loop) : loop_(loop) {}

  void Post(std::function<void()> work) {
    const MutexLock lock(mutex_);
    if (loop_ != nullptr) loop_->Post(std::move(work));
  }
  void Close() {
    const MutexLock lock(mutex_);
    loop_ = nullptr;
  }

 private:
  Mutex mutex_;
  EventLoop* loop_ CANOPY_GUARDED_BY(mutex_);
};

// The calls of a client that have not ended. Loop thread only. The call objects
// are destroyed with the loop's references, never on one of gRPC's threads,
// because the last call may destroy its channel, and with the last channel gRPC
// ends and joins these threads.
class Calls {
 public:
  Calls(EventLoop* loop, const std::string& token)
      : gate(std::make_shared<Gate>(loop)),
        authorization(token.empty() ? "" : "Bearer " + token) {}
  void Add(const CallPtr& call) { open.insert(call); }
  void Remove(const CallPtr& call) { open.erase(call); }

  const std::shared_ptr<Gate> gate;
  // Adds the metadata that every call has.
  void Prepare(grpc::ClientContext* context) const {
    if (authorization.empty()) return;
    context->AddMetadata("authorization", authorization);
  }
  std::set<CallPtr> open;
  const std::string authorization;  // empty: none
};
using CallsPtr = std::shared_ptr<Calls>;

CallEnd EndOf(const grpc::Status& status) {
  return scheduler::EndOf(status.error_code(), status.error_message(),
                          status.error_details());
}

// Passes the infos of an answer to `done`.
template <typename Response>
ServiceClient::Done<Response> WithResults(ServiceClient::Done<Results> done) {
  return
      [done = std::move(done)](const CallEnd& end, const Response& response) {
        done(end, response.results());
      };
}

void SetDeadline(int64_t deadline_ms, grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(deadline_ms));
}

// Represents a call that failed before it was made.
class NoCall : public Call {
 public:
  void Cancel() override {}
};

template <typename Request, typename Reply>
class UnaryCall : public Call {
 public:
  void Cancel() override { context.TryCancel(); }

  grpc::ClientContext context;
  Request request;
  Reply reply;
};

// A call of PlaceJob. Reads the messages one after the other, each when the
// previous one was handled.
class PlaceCall : public Call,
                  public grpc::ClientReadReactor<v1::PlaceJobResponse>,
                  public std::enable_shared_from_this<PlaceCall> {
 public:
  PlaceCall(CallsPtr calls, v1::PlaceJobRequest request)
      : calls_(std::move(calls)), request_(std::move(request)) {}

  void Begin(v1::HostModuleService::Stub* stub, int64_t deadline_ms) {
    self_ = shared_from_this();
    calls_->Prepare(&context_);
    SetDeadline(deadline_ms, &context_);
    stub->async()->PlaceJob(&context_, &request_, this);
    AddHold();
    StartRead(&update_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }

  // No message may follow the grant. If one does, it is passed to the listener,
  // which reports it, and the call is cancelled.
  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    calls_->gate->Post([this, self = shared_from_this()] {
      const bool too_much =
          std::exchange(decided_, decided_ || update_.has_granted());
      on_update(update_);
      if (too_much) context_.TryCancel();
      StartRead(&update_);
    });
  }
  void OnDone(const grpc::Status& status) override {
    const CallsPtr calls = calls_;
    calls->gate->Post([self = std::move(self_), end = EndOf(status)] {
      self->calls_->Remove(self);
      self->on_end(end);
    });
  }

  std::function<void(const v1::PlaceJobResponse&)> on_update;
  std::function<void(const CallEnd&)> on_end;

 private:
  const CallsPtr calls_;
  const v1::PlaceJobRequest request_;
  grpc::ClientContext context_;
  v1::PlaceJobResponse update_;
  bool decided_ = false;             // loop thread
  std::shared_ptr<PlaceCall> self_;  // until the call is done
};

class AttachStream
    : public AttachCall,
      public grpc::ClientBidiReactor<v1::AttachRequest, v1::AttachResponse>,
      public std::enable_shared_from_this<AttachStream> {
 public:
  explicit AttachStream(CallsPtr calls) : calls_(std::move(calls)) {}

  void Begin(v1::HostModuleService::Stub* stub) {
    self_ = shared_from_this();
    calls_->Prepare(&context_);
    stub->async()->Attach(&context_, this);
    AddHold();
    StartRead(&message_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }
  bool writes() const override { return !ended_ && !queue_.empty(); }
  void Write(v1::AttachRequest message) override {
    if (ended_) return;
    // If the queue is full, the server does not read.
    if (queue_.size() >= kMaxQueued) return Cancel();
    queue_.push_back(std::move(message));
    if (queue_.size() > 1) return;
    // The write is posted, because it would delay the loop's other work of this
    // round, such as a launch.
    calls_->gate->Post([this, self = shared_from_this()] {
      if (!ended_) StartWrite(&queue_.front());
    });
  }

  void OnReadDone(bool ok) override {
    calls_->gate->Post([this, self = shared_from_this(), ok] {
      // No write begins after a failed read.
      if (!ok) ended_ = true;
      if (!ok) return RemoveHold();
      on_message(message_);
      StartRead(&message_);
    });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return;  // the read fails too
    calls_->gate->Post([this, self = shared_from_this()] {
      queue_.pop_front();
      if (!ended_ && !queue_.empty()) StartWrite(&queue_.front());
    });
  }
  void OnDone(const grpc::Status& status) override {
    const CallsPtr calls = calls_;
    calls->gate->Post([self = std::move(self_), end = EndOf(status)] {
      self->calls_->Remove(self);
      self->on_end(end);
    });
  }

  std::function<void(const v1::AttachResponse&)> on_message;
  std::function<void(const CallEnd&)> on_end;

 private:
  const CallsPtr calls_;
  grpc::ClientContext context_;
  v1::AttachResponse message_;
  std::deque<v1::AttachRequest> queue_;  // the first is being written
  bool ended_ = false;
  std::shared_ptr<AttachStream> self_;  // until the call is done
};

// Returns a description of the security, for errors. A server that rejects the
// agent's certificate only disconnects, so the error of gRPC does not show that
// reason.
std::string HowCalled(security::SecurityMode mode) {
  switch (mode) {
    case security::SecurityMode::kDerived:
      return "; it is called by TLS, and has to have a certificate of the "
             "overlay's cluster key: 'canopy host-module certificate' makes it";
    case security::SecurityMode::kFiles:
      return "; it is called by TLS, and has to have a certificate of the "
             "authority of --tls-ca and to trust that of --tls-cert";
    case security::SecurityMode::kPlaintext:
      return "; it is called without TLS, because of --security plaintext";
  }
  return "";
}

class GrpcClient : public ServiceClient {
 public:
  using MakeChannel = std::function<std::shared_ptr<grpc::Channel>()>;

  // `local` is the address if only users of this machine can reach it.
  // Otherwise `how` describes the security, as a possible reason for a failure;
  // it may be empty.
  GrpcClient(EventLoop* loop, std::string local, std::string how,
             const std::string& token, MakeChannel make_channel)
      : loop_(loop),
        local_(std::move(local)),
        how_(std::move(how)),
        make_channel_(std::move(make_channel)),
        channel_(make_channel_()),
        stub_(v1::HostModuleService::NewStub(channel_)),
        calls_(std::make_shared<Calls>(loop, token)) {}

  ~GrpcClient() override {
    const int64_t deadline = EventLoop::Now() + kCallsEndNs;
    for (const CallPtr& call : calls_->open) call->Cancel();
    while (!calls_->open.empty() && EventLoop::Now() < deadline) {
      loop_->RunOnce(kStepMs);
    }
    calls_->gate->Close();
  }

  bool connected() const override {
    return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  }

  CallPtr Send(const v1::GetCapabilitiesRequest& request, int64_t deadline_ms,
               Done<v1::GetCapabilitiesResponse> done) override {
    const Status owner =
        local_.empty() ? Status() : CheckOwner(local_, geteuid());
    if (!owner.ok()) {
      return Fail(std::move(done), owner);
    }
    // A new channel is created, because an old one would add its own pauses to
    // those of the link.
    channel_ = make_channel_();
    stub_ = v1::HostModuleService::NewStub(channel_);
    return Unary<v1::GetCapabilitiesRequest, v1::GetCapabilitiesResponse>(
        &Async::GetCapabilities, request, deadline_ms,
        [done = std::move(done), how = how_](CallEnd end, const auto& reply) {
          if (end.gone()) end.message += how;
          done(end, reply);
        });
  }
  CallPtr Send(const v1::JobLaunchedRequest& request, int64_t deadline_ms,
               Done<v1::JobLaunchedResponse> done) override {
    return Later(&Async::JobLaunched, request, deadline_ms, std::move(done));
  }
  CallPtr Send(const v1::JobReleasedRequest& request, int64_t deadline_ms,
               Done<v1::JobReleasedResponse> done) override {
    return Later(&Async::JobReleased, request, deadline_ms, std::move(done));
  }
  CallPtr Send(const v1::AllocateRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::Allocate, request, deadline_ms,
                 WithResults<v1::AllocateResponse>(std::move(done)));
  }
  CallPtr Send(const v1::ControlSessionRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::ControlSession, request, deadline_ms,
                 WithResults<v1::ControlSessionResponse>(std::move(done)));
  }
  CallPtr Send(const v1::BlockResourcesRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::BlockResources, request, deadline_ms,
                 WithResults<v1::BlockResourcesResponse>(std::move(done)));
  }
  CallPtr Send(const v1::LogRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::Log, request, deadline_ms,
                 WithResults<v1::LogResponse>(std::move(done)));
  }
  CallPtr Send(const v1::MonitorRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::Monitor, request, deadline_ms,
                 WithResults<v1::MonitorResponse>(std::move(done)));
  }
  CallPtr Send(const v1::GetCredentialRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::GetCredential, request, deadline_ms,
                 WithResults<v1::GetCredentialResponse>(std::move(done)));
  }
  CallPtr Send(const v1::ValidateCredentialRequest& request,
               int64_t deadline_ms, Done<Results> done) override {
    return Unary(&Async::ValidateCredential, request, deadline_ms,
                 WithResults<v1::ValidateCredentialResponse>(std::move(done)));
  }
  CallPtr Send(const v1::QueryRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary(&Async::Query, request, deadline_ms,
                 WithResults<v1::QueryResponse>(std::move(done)));
  }
  CallPtr Send(const v1::ConnectToolRequest& request, int64_t deadline_ms,
               Done<Results> done) override {
    return Unary<v1::ConnectToolRequest, v1::ConnectToolResponse>(
        &Async::ConnectTool, request, deadline_ms,
        [done = std::move(done)](const CallEnd& end, const auto&) {
          done(end, {});
        });
  }

  CallPtr Place(
      const v1::PlaceJobRequest& request, int64_t deadline_ms,
      std::function<void(const v1::PlaceJobResponse& update)> on_update,
      std::function<void(const CallEnd& end)> on_end) override {
    const auto call = std::make_shared<PlaceCall>(calls_, request);
    call->on_update = std::move(on_update);
    call->on_end = std::move(on_end);
    calls_->Add(call);
    call->Begin(stub_.get(), deadline_ms);
    return call;
  }

  std::shared_ptr<AttachCall> Attach(
      std::function<void(const v1::AttachResponse& message)> on_message,
      std::function<void(const CallEnd& end)> on_end) override {
    const auto call = std::make_shared<AttachStream>(calls_);
    call->on_message = std::move(on_message);
    call->on_end = std::move(on_end);
    calls_->Add(call);
    call->Begin(stub_.get());
    return call;
  }

 private:
  CallPtr Fail(Done<v1::GetCapabilitiesResponse> done, const Status& why) {
    const auto call = std::make_shared<NoCall>();
    calls_->Add(call);
    calls_->gate->Post([calls = calls_, call, done = std::move(done), why] {
      calls->Remove(call);
      done(CallEnd{grpc::StatusCode::PERMISSION_DENIED, why.message()}, {});
    });
    return call;
  }

  using Async = v1::HostModuleService::StubInterface::async_interface;

  template <typename Request, typename Reply>
  CallPtr Unary(void (Async::*method)(grpc::ClientContext*, const Request*,
                                      Reply*,
                                      std::function<void(grpc::Status)>),
                const Request& request, int64_t deadline_ms, Done<Reply> done) {
    const auto call = NewUnary<Request, Reply>(request);
    Begin(method, call, deadline_ms, std::move(done));
    return call;
  }
  // Sends the message after the loop's other work of this round, which is the
  // launch or the end of the job itself.
  template <typename Request, typename Reply>
  CallPtr Later(void (Async::*method)(grpc::ClientContext*, const Request*,
                                      Reply*,
                                      std::function<void(grpc::Status)>),
                const Request& request, int64_t deadline_ms, Done<Reply> done) {
    const auto call = NewUnary<Request, Reply>(request);
    calls_->gate->Post(
        [this, method, call, deadline_ms, done = std::move(done)] {
          Begin(method, call, deadline_ms, done);
        });
    return call;
  }
  template <typename Request, typename Reply>
  std::shared_ptr<UnaryCall<Request, Reply>> NewUnary(const Request& request) {
    const auto call = std::make_shared<UnaryCall<Request, Reply>>();
    call->request = request;
    calls_->Add(call);
    return call;
  }
  template <typename Request, typename Reply>
  void Begin(void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                                   std::function<void(grpc::Status)>),
             const std::shared_ptr<UnaryCall<Request, Reply>>& call,
             int64_t deadline_ms, Done<Reply> done) {
    calls_->Prepare(&call->context);
    SetDeadline(deadline_ms, &call->context);
    (stub_->async()->*method)(&call->context, &call->request, &call->reply,
                              [calls = calls_, call, done = std::move(done)](
                                  const grpc::Status& status) mutable {
                                const CallsPtr all = calls;
                                all->gate->Post([calls, call = std::move(call),
                                                 done, end = EndOf(status)] {
                                  calls->Remove(call);
                                  done(end, call->reply);
                                });
                              });
  }

  EventLoop* const loop_;
  const std::string local_;
  const std::string how_;
  const MakeChannel make_channel_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::HostModuleService::Stub> stub_;
  const CallsPtr calls_;
};

}  // namespace

Result<std::unique_ptr<ServiceClient>> ServiceClient::Make(
    EventLoop* loop, const std::string& address,
    const security::SecurityConfig& security, const std::string& token) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  // Each channel has its own connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The agent repeats calls itself, so gRPC need not be able to.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  const bool local = security::IsLocalAddress(address);
  if (local) {
    credentials = grpc::InsecureChannelCredentials();
  } else {
    auto made = security::MakeChannelCredentials(security, address);
    if (!made.ok()) return made.status();
    credentials = *made;
    const std::string name = security.mode == security::SecurityMode::kDerived
                                 ? security::kSchedulerServerName
                                 : security::ServerNameOverride(security);
    if (!name.empty()) arguments.SetSslTargetNameOverride(name);
  }
  const bool secret =
      local || security.mode != security::SecurityMode::kPlaintext;
  return std::unique_ptr<ServiceClient>(std::make_unique<GrpcClient>(
      loop, local ? address : "", local ? "" : HowCalled(security.mode),
      secret ? token : "", [address, credentials, arguments] {
        return grpc::CreateCustomChannel(address, credentials, arguments);
      }));
}

}  // namespace canopy::scheduler
