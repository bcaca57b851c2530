#include "server/overlay/grpc_transport.h"

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/overlay/grpc_calls.h"

namespace canopy::overlay {
namespace {

// A stream that could not even be begun.
class FailedStream : public Stream,
                     public std::enable_shared_from_this<FailedStream> {
 public:
  FailedStream(EventLoop* loop, StreamEnd end)
      : loop_(loop), end_(std::move(end)) {}
  void Attach(StreamListener* listener) override {
    listener_ = listener;
    loop_->Post([self = shared_from_this()] {
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

// Where incoming streams go. Shared with what is posted; Stop empties it.
struct Acceptor {
  GrpcTransport::Accept accept;  // loop thread
};

void Serve(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Completion*>(tag)->Complete(ok);
}

// What gRPC has to say comes back as statuses, which are reported where an
// operator looks; its own lines on stderr would only repeat them. Only what it
// says before it aborts the process does not come back.
void LogFatal(gpr_log_func_args* args) {
  const std::string_view text = args->message;
  if (text.find("assertion failed") != text.npos ||
      text.find("API misuse") != text.npos) {
    fprintf(stderr, "gRPC: %s (%s:%d)\n", args->message, args->file,
            args->line);
  }
}

// The library for reflection adds its service to every server as soon as it is
// linked.
class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* all) override {
    std::erase_if(*all, [](const auto& plugin) {
      return plugin->name() == "proto_server_reflection";
    });
  }
};

}  // namespace

void PrepareGrpc() {
  static const bool once = [] {
    if (getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(LogFatal);
    // Debian's Abseil is compiled to watch the order of gRPC's locks.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // With its usual strategy all completion queues share one set of
    // descriptors, and whichever thread polls hands events to the others. With
    // this one a queue's thread polls for itself. The choice is made here once
    // and must not reach the environment of what this process starts.
    const bool chosen = getenv("GRPC_POLL_STRATEGY") != nullptr;
    if (!chosen) setenv("GRPC_POLL_STRATEGY", "poll", 0);
    grpc_init();
    if (!chosen) unsetenv("GRPC_POLL_STRATEGY");
    return true;
  }();
  (void)once;
}

struct GrpcTransport::Impl {
  EventLoop* loop;
  Options options;
  std::shared_ptr<Census> census = std::make_shared<Census>();
  std::shared_ptr<Acceptor> acceptor = std::make_shared<Acceptor>();
  LinkService service;
  std::vector<grpc::Service*> services;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::thread thread;  // serves the queue
  int port = 0;
  std::vector<std::weak_ptr<Stream>> dialled;
  std::shared_ptr<grpc::ChannelCredentials> credentials;

  int KeepaliveMs() const {
    return static_cast<int>(std::max<uint32_t>(options.detect_ms / 2, 100));
  }
  Result<std::shared_ptr<grpc::ChannelCredentials>> Credentials(
      const std::string& address);
  grpc::ChannelArguments ChannelArguments() const;
  void Remember(const std::shared_ptr<Stream>& stream);
  void AwaitCalls();
};

GrpcTransport::GrpcTransport(EventLoop* loop, Options options) {
  PrepareGrpc();
  impl_ = std::make_unique<Impl>();
  impl_->loop = loop;
  impl_->options = std::move(options);
}

GrpcTransport::~GrpcTransport() { Stop(); }

void GrpcTransport::AddService(grpc::Service* service) {
  impl_->services.push_back(service);
}

int GrpcTransport::port() const { return impl_->port; }

Status GrpcTransport::Listen(const std::string& address, Accept accept) {
  auto credentials =
      security::MakeServerCredentials(impl_->options.security, address);
  if (!credentials.ok()) return credentials.status();
  grpc::EnableDefaultHealthCheckService(true);
  if (impl_->options.reflection) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  grpc::ServerBuilder builder;
  if (!impl_->options.reflection) {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
  builder.AddListeningPort(address, *credentials, &impl_->port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 50);
  builder.RegisterService(&impl_->service);
  for (grpc::Service* s : impl_->services) builder.RegisterService(s);
  impl_->queue = builder.AddCompletionQueue();
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) {
    impl_->queue->Shutdown();
    Serve(impl_->queue.get());
    impl_->queue.reset();
    return Status(kErrUnreach, "can not listen on " + address +
                                   ": in use, or not an address of this host");
  }
  if (address.starts_with("unix:")) impl_->port = 0;
  impl_->acceptor->accept = std::move(accept);
  impl_->AwaitCalls();
  impl_->thread = std::thread(Serve, impl_->queue.get());
  return Status();
}

void GrpcTransport::Impl::AwaitCalls() {
  ServerCall::Await(
      loop, &service, queue.get(), census,
      [l = loop, a = acceptor](std::shared_ptr<Stream> stream) {
        l->Post([a, stream = std::move(stream)] {
          if (a->accept) return a->accept(stream);
          stream->Close({kEndUnavailable, "this agent is stopping"});
        });
      });
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
  // A dial is one attempt: its failure must not colour the next one's.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
              static_cast<int>(options.connect_ms));
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
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
      impl_->loop,
      grpc::CreateCustomChannel(address, *credentials,
                                impl_->ChannelArguments()),
      impl_->queue.get(), impl_->census,
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
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->census->WaitForNone();
  impl_->queue->Shutdown();
  impl_->thread.join();
  impl_->server.reset();
  impl_->queue.reset();
}

}  // namespace canopy::overlay
