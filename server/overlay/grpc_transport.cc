#include "server/overlay/grpc_transport.h"

#include <absl/time/clock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/start_thread.h"
#include "server/overlay/grpc_calls.h"
#include "server/rpc/bare_server.h"
#include "server/rpc/completion.h"
#include "server/rpc/driver_choice.h"
#include "server/rpc/loop_driver.h"
#include "server/rpc/network_port.h"
#include "server/rpc/status.h"

namespace canopy::overlay {
namespace {

// Features that gRPC checks for on each message, and that links never use:
// compressed messages, and calls with a deadline.
constexpr const char* kUnused[] = {GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION,
                                   GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
                                   GRPC_ARG_ENABLE_DEADLINE_CHECKS};

// A stream that could not be opened; its only event is its end.
class FailedStream : public Stream,
                     public std::enable_shared_from_this<FailedStream> {
 public:
  FailedStream(EventLoop* loop, StreamEnd end)
      : loop_(loop), end_(std::move(end)) {}
  void Attach(StreamListener* listener) override {
    listener_ = listener;
    loop_->Post([self = shared_from_this()] {
      self->loop_->AssertOnThread();
      if (self->listener_ == nullptr) return;
      std::exchange(self->listener_, nullptr)->OnEnd(self->end_);
    });
  }
  void Detach() override { listener_ = nullptr; }
  bool Writable() override { return false; }
  void Write(const Rope&) override {}
  void Close(const StreamEnd&) override { Detach(); }
  void CloseInOrder() override { Detach(); }

 private:
  EventLoop* const loop_;
  const StreamEnd end_;
  StreamListener* listener_ = nullptr;
};

// The receiver of incoming streams. It is shared with posted work; Stop clears
// it.
struct Acceptor {
  GrpcTransport::Accept accept;  // used by the loop thread
};

// An agent without peers attaches nothing to the driver, which therefore needs
// no self-test.
rpc::DriverChoice ChoiceFor(const GrpcTransport::Options& options) {
  if (options.driver.has_value()) return {*options.driver, "as configured"};
  if (options.alone) return {rpc::DriverKind::kInLoop, "no peer is expected"};
  return rpc::ChooseDriver();
}

std::string Describe(const rpc::DriverChoice& choice) {
  const bool in_loop = choice.kind == rpc::DriverKind::kInLoop;
  return (in_loop ? "in the agent's loop, " : "by a thread of their own, ") +
         choice.reason;
}

}  // namespace

struct GrpcTransport::Impl {
  EventLoop* loop;
  Options options;
  std::shared_ptr<CallCounter> calls = std::make_shared<CallCounter>();
  std::shared_ptr<Acceptor> acceptor = std::make_shared<Acceptor>();
  LinkService service;
  std::unique_ptr<rpc::LoopDriver> driver;
  std::string driver_text;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<rpc::NetworkPort> listener;
  int port = 0;
  std::vector<std::weak_ptr<Stream>> dialled;
  std::shared_ptr<grpc::ChannelCredentials> credentials;

  int KeepaliveMs() const {
    return static_cast<int>(absl::ToInt64Milliseconds(
        std::max(options.detect / 2, absl::Milliseconds(100))));
  }
  Result<std::shared_ptr<grpc::ChannelCredentials>> Credentials(
      const std::string& address);
  grpc::ChannelArguments ChannelArguments() const;
  void Remember(const std::shared_ptr<Stream>& stream);
  void ChooseDriver();
  Status Reserve(const std::string& address);
  Status Serve();
  void AwaitCalls();
};

GrpcTransport::GrpcTransport(EventLoop* loop, Options options) {
  impl_ = std::make_unique<Impl>();
  impl_->loop = loop;
  impl_->options = std::move(options);
  impl_->ChooseDriver();
}

void GrpcTransport::Impl::ChooseDriver() {
  const rpc::DriverChoice choice = ChoiceFor(options);
  driver = rpc::MakeDriver(loop, choice.kind);
  driver_text = Describe(choice);
  if (options.security.mode == security::SecurityMode::kPlaintext) {
    driver->reads()->SetRecordBytes(0);
  }
}

GrpcTransport::~GrpcTransport() { Stop(); }

int GrpcTransport::port() const { return impl_->port; }

const std::string& GrpcTransport::driver() const { return impl_->driver_text; }

Status GrpcTransport::Listen(const std::string& address, Accept accept) {
  auto credentials =
      security::MakeServerCredentials(impl_->options.security, address);
  if (!credentials.ok()) return credentials.status();
  if (Status status = impl_->Reserve(address); !status.ok()) return status;
  grpc::ServerBuilder builder;
  rpc::MakeBare(&builder);
  impl_->listener->AddTo(&builder, *credentials);
  for (const char* what : kUnused) builder.AddChannelArgument(what, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 50);
  builder.RegisterService(&impl_->service);
  impl_->queue = builder.AddCompletionQueue();
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) {
    impl_->queue->Shutdown();
    rpc::ServeToEnd(impl_->queue.get());
    impl_->queue.reset();
    return Status(kErrServerFailedRequest, "gRPC could not start a server");
  }
  impl_->acceptor->accept = std::move(accept);
  return impl_->options.alone ? Status() : impl_->Serve();
}

Status GrpcTransport::ExpectPeers() {
  if (!std::exchange(impl_->options.alone, false)) return Status();
  impl_->ChooseDriver();
  return impl_->Serve();
}

Status GrpcTransport::Impl::Serve() {
  AwaitCalls();
  listener->Open();
  return rpc::FromAbsl(driver->Attach(queue.get()));
}

Status GrpcTransport::Impl::Reserve(const std::string& address) {
  rpc::NetworkPort::Options port_options;
  port_options.log = options.log;
  port_options.unacknowledged_ms = static_cast<uint32_t>(KeepaliveMs());
  port_options.limits.timeout_ns =
      absl::ToInt64Nanoseconds(std::max(options.silence, options.detect));
  listener = std::make_unique<rpc::NetworkPort>(loop, std::move(port_options));
  Status status = listener->Listen(address);
  port = listener->port();
  return status;
}

void GrpcTransport::Impl::AwaitCalls() {
  ServerCall::Events events;
  events.accept = [l = loop, a = acceptor](std::shared_ptr<Stream> stream) {
    l->Defer([a, stream = std::move(stream)] {
      if (a->accept) return a->accept(stream);
      stream->Close({kEndUnavailable, "this agent is stopping"});
    });
  };
  events.proved = [p = listener.get()](const std::string& peer) {
    p->Heard(peer);
  };
  ServerCall::Await(loop, driver->reads(), &service, queue.get(), calls,
                    std::move(events));
}

Result<std::shared_ptr<grpc::ChannelCredentials>>
GrpcTransport::Impl::Credentials(const std::string& address) {
  const bool plain =
      options.security.mode == security::SecurityMode::kPlaintext;
  if (!plain && credentials != nullptr) return credentials;
  auto made = security::MakeChannelCredentials(options.security, address);
  if (made.ok()) credentials = *made;
  return made;
}

grpc::ChannelArguments GrpcTransport::Impl::ChannelArguments() const {
  grpc::ChannelArguments args;
  // A dial is a single attempt, so a failure must not delay the next one.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
              static_cast<int>(absl::ToInt64Milliseconds(options.connect)));
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  for (const char* what : kUnused) args.SetInt(what, 0);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, KeepaliveMs());
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KeepaliveMs());
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  const std::string name = security::ServerNameOverride(options.security);
  if (!name.empty()) args.SetSslTargetNameOverride(name);
  return args;
}

void GrpcTransport::Impl::Remember(const std::shared_ptr<Stream>& stream) {
  std::erase_if(dialled, [](const auto& weak) { return weak.expired(); });
  dialled.push_back(stream);
}

std::shared_ptr<Stream> GrpcTransport::Dial(const std::string& address) {
  auto credentials = impl_->Credentials(address);
  if (!credentials.ok() || impl_->queue == nullptr) {
    const StreamEnd end =
        credentials.ok()
            ? StreamEnd{kEndUnavailable, "this agent does not listen yet"}
            : StreamEnd{kEndRefused, credentials.status().message()};
    return std::make_shared<FailedStream>(impl_->loop, end);
  }
  auto* call = new ClientCall(
      impl_->loop, impl_->driver->reads(),
      grpc::CreateCustomChannel(address, *credentials,
                                impl_->ChannelArguments()),
      impl_->queue.get(), impl_->calls,
      impl_->options.security.mode == security::SecurityMode::kDerived);
  std::shared_ptr<Stream> stream = call->stream();
  impl_->Remember(stream);
  call->Start();
  return stream;
}

void GrpcTransport::Stop() {
  impl_->acceptor->accept = nullptr;
  for (const auto& weak : impl_->dialled) {
    if (auto stream = weak.lock()) stream->Close({kEndCancelled, ""});
  }
  impl_->dialled.clear();
  if (impl_->queue == nullptr) return;
  impl_->listener->Close();
  impl_->driver->Detach();
  // Shutdown blocks until this thread has completed the calls' pending
  // operations.
  Result<std::thread> ender = StartThread([this] {
    impl_->server->Shutdown(absl::ToChronoTime(absl::Now()));
    impl_->calls->WaitForNone();
    impl_->queue->Shutdown();
  });
  if (!ender.ok()) {
    // Without a thread, the server cannot be shut down. Its connections end
    // with the process.
    (void)impl_->server.release();
    (void)impl_->queue.release();
    return;
  }
  rpc::ServeToEnd(impl_->queue.get());
  ender->join();
  impl_->server.reset();
  impl_->queue.reset();
}

}  // namespace canopy::overlay
