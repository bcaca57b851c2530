#include "server/overlay/grpc_transport.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "protos/overlay.grpc.pb.h"

namespace canopy::overlay {
namespace {

using grpc::ByteBuffer;

constexpr char kMethod[] = "/canopy.overlay.v1.Overlay/Link";
// Frames that arrived and wait for the loop thread; above it, reading stops.
constexpr size_t kMaxInbox = size_t{4} << 20;
// Frame parts up to this are copied into one slice.
constexpr size_t kCopyPart = 16 * 1024;

grpc::Slice ShareSlice(const Bytes& bytes) {
  auto* keep = new Bytes(bytes);
  return grpc::Slice(
      const_cast<char*>(keep->view().data()), keep->size(),
      [](void* user) { delete static_cast<Bytes*>(user); }, keep);
}

ByteBuffer ToBuffer(const Rope& frame) {
  std::vector<grpc::Slice> slices;
  slices.reserve(frame.size());
  for (const Bytes& part : frame) {
    if (part.size() <= kCopyPart) {
      slices.emplace_back(part.view().data(), part.size());
    } else {
      slices.push_back(ShareSlice(part));
    }
  }
  return ByteBuffer(slices.data(), slices.size());
}

// In memory of its own: gRPC's read buffers are larger than what is in them.
Bytes ToBytes(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return Bytes();
  std::string all;
  all.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    all.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return Bytes(std::move(all));
}

// What a stream asks of the gRPC reactor under it.
class Reactor {
 public:
  virtual ~Reactor() = default;
  virtual void Read(ByteBuffer* in) = 0;
  virtual void Write(const ByteBuffer* out) = 0;
  // No Read or Write will come after this one.
  virtual void Finish(const StreamEnd& end) = 0;
  virtual void Cancel() = 0;
  virtual void HalfClose() = 0;
};

// One stream: the loop thread's end of it and what gRPC's threads share with
// that. The reactor lives until its OnDone, which calls Done here.
class GrpcStream : public Stream,
                   public std::enable_shared_from_this<GrpcStream> {
 public:
  GrpcStream(EventLoop* loop, Reactor* reactor)
      : loop_(loop), reactor_(reactor) {}

  // ------------------------------------------------------- loop thread ---

  void Attach(StreamListener* listener) override {
    listener_ = listener;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!inbox_.empty() || ended_.has_value()) Schedule();
  }

  void Detach() override {
    listener_ = nullptr;
    deaf_ = true;
  }

  bool Writable() override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!closing_ && !write_in_flight_) return true;
    want_writable_ = true;
    return false;
  }

  void Write(const Rope& frame) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (closing_ || write_in_flight_) return;
      write_in_flight_ = true;
      ++starts_;
    }
    out_ = ToBuffer(frame);
    reactor_->Write(&out_);
    StartDone();
  }

  void Close(const StreamEnd& end) override {
    Detach();
    bool cancel = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (reactor_ == nullptr || finished_) return;
      closing_ = true;
      close_with_ = end;
      cancel = end.code == kEndCancelled;
      ++starts_;
    }
    if (cancel) reactor_->Cancel();
    StartDone();
  }

  void CloseInOrder() override {
    Detach();
    bool now = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (closing_) return;
      half_close_ = true;
      now = !write_in_flight_;
      if (now) ++starts_;
    }
    if (now) {
      reactor_->HalfClose();
      StartDone();
    }
  }

  // ---------------------------------------------------- gRPC's threads ---

  ByteBuffer* in() { return &in_; }

  void ReadDone(bool ok) {
    bool again = false;
    Bytes frame = ok ? ToBytes(in_) : Bytes();
    in_.Clear();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (ok) {
        inbox_bytes_ += frame.size();
        inbox_.push_back(std::move(frame));
        Schedule();
      } else {
        closing_ = true;
      }
      read_paused_ = ok && inbox_bytes_ > kMaxInbox;
      again = ok && !closing_ && !read_paused_;
      ++starts_;
    }
    if (again) reactor_->Read(&in_);
    StartDone();
  }

  void WriteDone(bool ok) {
    out_.Clear();
    bool half_close = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      write_in_flight_ = false;
      if (!ok) closing_ = true;
      half_close = half_close_ && !closing_;
      if (want_writable_ && !closing_) Schedule();
      ++starts_;
    }
    if (half_close) reactor_->HalfClose();
    StartDone();
  }

  // The connection broke or the call was cancelled.
  void Broken() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
      ++starts_;
    }
    StartDone();
  }

  void Done(StreamEnd end) {
    std::lock_guard<std::mutex> lock(mutex_);
    reactor_ = nullptr;
    closing_ = finished_ = true;
    ended_ = std::move(end);
    Schedule();
  }

 private:
  // Under the lock.
  void Schedule() {
    if (std::exchange(scheduled_, true)) return;
    loop_->Post([self = shared_from_this()] { self->Deliver(); });
  }

  // What was begun under `++starts_` has been handed to gRPC. The stream is
  // finished once nothing is being handed over any more.
  void StartDone() {
    StreamEnd end;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      --starts_;
      if (!closing_ || write_in_flight_ || starts_ > 0 || finished_) return;
      finished_ = true;
      end = close_with_;
    }
    reactor_->Finish(end);
  }

  // Loop thread.
  void Deliver() {
    std::vector<Bytes> frames;
    bool writable = false;
    bool resume = false;
    std::optional<StreamEnd> end;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      scheduled_ = false;
      if (listener_ == nullptr && !deaf_) return;
      frames.swap(inbox_);
      inbox_bytes_ = 0;
      resume = std::exchange(read_paused_, false) && !closing_;
      if (resume) ++starts_;
      writable = want_writable_ && !write_in_flight_ && !closing_;
      if (writable) want_writable_ = false;
      end = std::exchange(ended_, std::nullopt);
    }
    if (resume) {
      reactor_->Read(&in_);
      StartDone();
    }
    for (Bytes& frame : frames) {
      if (listener_ != nullptr) listener_->OnFrame(std::move(frame));
    }
    if (writable && listener_ != nullptr) listener_->OnWritable();
    if (end.has_value() && listener_ != nullptr) {
      std::exchange(listener_, nullptr)->OnEnd(*end);
    }
  }

  EventLoop* const loop_;
  // Loop thread.
  StreamListener* listener_ = nullptr;
  bool deaf_ = false;

  // Whoever has the read or the write in flight.
  ByteBuffer in_;
  ByteBuffer out_;

  std::mutex mutex_;  // all below
  Reactor* reactor_;  // constant until Done
  std::vector<Bytes> inbox_;
  size_t inbox_bytes_ = 0;
  bool scheduled_ = false;
  bool read_paused_ = false;
  bool write_in_flight_ = false;
  bool want_writable_ = false;
  bool half_close_ = false;
  bool closing_ = false;   // no new operation starts
  bool finished_ = false;  // Finish was called
  int starts_ = 0;         // operations being handed to gRPC just now
  StreamEnd close_with_;
  std::optional<StreamEnd> ended_;
};

// gRPC reports a failed TLS handshake like any other failure to connect. With
// derived identities there is one cause, and it deserves its name.
StreamEnd Explain(const grpc::Status& status, bool derived) {
  const std::string& text = status.error_message();
  StreamEnd end{static_cast<int>(status.error_code()), text};
  if (!derived || text.find("Ssl handshake failed") == std::string::npos) {
    return end;
  }
  if (text.find("wrong version number") != std::string::npos) {
    return {kEndRefused, "it does not speak TLS; this agent does"};
  }
  return {kEndWrongKey, "cluster key differs"};
}

// What gRPC has to say comes back as statuses, which are reported where an
// operator looks; its own lines on stderr only repeat them.
void SilenceGrpc() {
  static const bool once = [] {
    if (getenv("GRPC_VERBOSITY") == nullptr) {
      gpr_set_log_function([](gpr_log_func_args*) {});
    }
    return true;
  }();
  (void)once;
}

// Counts reactors, so that Stop can wait for the last.
class Census {
 public:
  void Enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++alive_;
  }
  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--alive_ == 0) none_.notify_all();
  }
  void WaitForNone() {
    std::unique_lock<std::mutex> lock(mutex_);
    none_.wait(lock, [this] { return alive_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int alive_ = 0;
};

class ServerReactor final
    : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>,
      public Reactor {
 public:
  ServerReactor(EventLoop* loop, grpc::CallbackServerContext* context,
                std::shared_ptr<Census> census)
      : context_(context),
        census_(std::move(census)),
        stream_(std::make_shared<GrpcStream>(loop, this)) {
    census_->Enter();
    StartRead(stream_->in());
  }

  const std::shared_ptr<GrpcStream>& stream() const { return stream_; }

  void Read(ByteBuffer* in) override { StartRead(in); }
  void Write(const ByteBuffer* out) override { StartWrite(out); }
  void Finish(const StreamEnd& end) override {
    ServerBidiReactor::Finish(
        grpc::Status(static_cast<grpc::StatusCode>(end.code), end.message));
  }
  void Cancel() override { context_->TryCancel(); }
  void HalfClose() override {}

  void OnReadDone(bool ok) override { stream_->ReadDone(ok); }
  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnCancel() override {
    cancelled_ = true;
    stream_->Broken();
  }
  void OnDone() override {
    stream_->Done(cancelled_
                      ? StreamEnd{kEndUnavailable, "the connection broke"}
                      : StreamEnd{});
    const auto census = std::move(census_);
    delete this;
    census->Leave();
  }

 private:
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<Census> census_;
  const std::shared_ptr<GrpcStream> stream_;
  std::atomic<bool> cancelled_{false};
};

class ClientReactor final
    : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer>,
      public Reactor {
 public:
  ClientReactor(EventLoop* loop, std::shared_ptr<grpc::Channel> channel,
                std::shared_ptr<Census> census, bool derived)
      : loop_(loop),
        derived_(derived),
        channel_(std::move(channel)),
        stub_(channel_),
        census_(std::move(census)),
        stream_(std::make_shared<GrpcStream>(loop, this)) {
    census_->Enter();
  }

  const std::shared_ptr<GrpcStream>& stream() const { return stream_; }

  void Start() {
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();
    StartRead(stream_->in());
    StartCall();
  }

  void Read(ByteBuffer* in) override { StartRead(in); }
  void Write(const ByteBuffer* out) override { StartWrite(out); }
  // The hold stands for what the loop thread might still start.
  void Finish(const StreamEnd& end) override {
    if (!end.ok()) context_.TryCancel();
    RemoveHold();
  }
  void Cancel() override { context_.TryCancel(); }
  void HalfClose() override { StartWritesDone(); }

  void OnReadDone(bool ok) override { stream_->ReadDone(ok); }
  void OnWriteDone(bool ok) override { stream_->WriteDone(ok); }
  void OnDone(const grpc::Status& status) override {
    stream_->Done(Explain(status, derived_));
    // The last reference to a channel must not go on a thread of gRPC's: it
    // would wait for itself.
    EventLoop* const loop = loop_;
    auto channel = channel_;
    const auto census = std::move(census_);
    delete this;
    loop->Post([channel = std::move(channel)] {});
    census->Leave();
  }

 private:
  EventLoop* const loop_;
  const bool derived_;  // identities come from the cluster key
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::shared_ptr<Census> census_;
  const std::shared_ptr<GrpcStream> stream_;
};

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

// Where incoming streams go. gRPC's threads hold it; Stop empties it.
struct Acceptor {
  EventLoop* loop;
  GrpcTransport::Accept accept;  // loop thread; empty once stopped
  std::shared_ptr<Census> census;
};

class LinkService final
    : public v1::Overlay::WithRawCallbackMethod_Link<v1::Overlay::Service> {
 public:
  explicit LinkService(std::shared_ptr<Acceptor> acceptor)
      : acceptor_(std::move(acceptor)) {}

  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Link(
      grpc::CallbackServerContext* context) override {
    auto* reactor =
        new ServerReactor(acceptor_->loop, context, acceptor_->census);
    acceptor_->loop->Post([acceptor = acceptor_, stream = reactor->stream()] {
      if (acceptor->accept != nullptr) {
        acceptor->accept(stream);
      } else {
        stream->Close({kEndUnavailable, "this agent is stopping"});
      }
    });
    return reactor;
  }

 private:
  const std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace

struct GrpcTransport::Impl {
  EventLoop* loop;
  Options options;
  std::shared_ptr<Census> census = std::make_shared<Census>();
  std::shared_ptr<Acceptor> acceptor;
  std::unique_ptr<LinkService> service;
  std::vector<grpc::Service*> services;
  std::unique_ptr<grpc::Server> server;
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
};

GrpcTransport::GrpcTransport(EventLoop* loop, Options options)
    : impl_(std::make_unique<Impl>()) {
  SilenceGrpc();
  impl_->loop = loop;
  impl_->options = std::move(options);
  impl_->acceptor = std::make_shared<Acceptor>();
  impl_->acceptor->loop = loop;
  impl_->acceptor->census = impl_->census;
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
  builder.AddListeningPort(address, *credentials, &impl_->port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             impl_->KeepaliveMs());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 50);
  impl_->service = std::make_unique<LinkService>(impl_->acceptor);
  builder.RegisterService(impl_->service.get());
  for (grpc::Service* s : impl_->services) builder.RegisterService(s);
  impl_->acceptor->accept = std::move(accept);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) {
    return Status(kErrUnreach, "can not listen on " + address +
                                   ": in use, or not an address of this host");
  }
  if (address.starts_with("unix:")) impl_->port = 0;
  return Status();
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
  if (!credentials.ok()) {
    return std::make_shared<FailedStream>(
        impl_->loop, StreamEnd{kEndRefused, credentials.status().message()});
  }
  auto* reactor = new ClientReactor(
      impl_->loop,
      grpc::CreateCustomChannel(address, *credentials,
                                impl_->ChannelArguments()),
      impl_->census,
      impl_->options.security.mode == security::SecurityMode::kDerived);
  std::shared_ptr<Stream> stream = reactor->stream();
  impl_->Remember(stream);
  reactor->Start();
  return stream;
}

void GrpcTransport::Stop() {
  impl_->acceptor->accept = nullptr;
  for (const auto& weak : impl_->dialled) {
    if (auto stream = weak.lock()) stream->Close({kEndCancelled, ""});
  }
  impl_->dialled.clear();
  if (impl_->server != nullptr) {
    impl_->server->Shutdown(std::chrono::system_clock::now());
  }
  impl_->census->WaitForNone();
  impl_->server.reset();
}

}  // namespace canopy::overlay
