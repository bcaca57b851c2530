#include "server/relay/relay_service.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "common/mutex.h"
#include "common/thread_annotations.h"
#include "protos/relay.grpc.pb.h"

namespace canopy::relay {
namespace {

// Shared by the calls of one service. Used only by the loop's thread.
struct Shared {
  EventLoop* const loop;
  const RelayOptions options;
  uint32_t connections = 0;
};

// One call. The service creates it when a call arrives. gRPC's OnDone deletes
// it, on the loop's thread, after all work that was posted there before. A
// cancelled call is finished without the loop, which may have stopped. No part
// of gRPC may be used after a call is finished.
class CarriedConnection : public PieceStream,
                          public grpc::ServerBidiReactor<v1::Piece, v1::Piece> {
 public:
  CarriedConnection(Shared* shared, const AdoptConnection* adopt,
                    grpc::CallbackServerContext* context)
      : shared_(shared), adopt_(adopt), context_(context) {
    Post([this] { Begin(); });
  }

  void Read() override {
    const MutexLock lock(mutex_);
    if (!finished_) StartRead(&incoming_);
  }
  void Write(std::string piece) override {
    const MutexLock lock(mutex_);
    if (finished_) return;
    writing_ = true;
    outgoing_.set_data(std::move(piece));
    StartWrite(&outgoing_);
  }
  void End() override { FinishWith(grpc::Status::OK); }
  void Cancel() override {
    const MutexLock lock(mutex_);
    if (!finished_) context_->TryCancel();
  }

  void OnReadDone(bool ok) override {
    Post([this, ok] {
      if (!bridge_) return;
      ok ? bridge_->OnPiece(incoming_.data()) : bridge_->OnPeerEnd();
    });
  }
  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      if (cancelled_) FinishLocked(grpc::Status::CANCELLED);
    }
    Post([this, ok] { bridge_->OnWritten(ok); });
  }
  void OnCancel() override {
    {
      const MutexLock lock(mutex_);
      cancelled_ = true;
      if (!writing_) FinishLocked(grpc::Status::CANCELLED);
    }
    Post([this] {
      if (bridge_) bridge_->OnBroken();
    });
  }
  void OnDone() override {
    Post([this] { delete this; });
  }

 private:
  ~CarriedConnection() override {
    if (bridge_) --shared_->connections;
  }

  template <typename Work>
  void Post(Work work) {
    shared_->loop->Post([loop = shared_->loop, work = std::move(work)] {
      loop->AssertOnThread();
      work();
    });
  }

  void FinishLocked(const grpc::Status& status) CANOPY_REQUIRES(mutex_) {
    if (!std::exchange(finished_, true)) Finish(status);
  }
  void FinishWith(const grpc::Status& status) {
    const MutexLock lock(mutex_);
    FinishLocked(status);
  }
  void Refuse(const char* why) {
    FinishWith(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, why));
  }

  void Begin() {
    if (shared_->connections >= shared_->options.max_connections) {
      return Refuse("the agent has as many relayed connections as it takes");
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends) != 0) {
      return Refuse("the agent has no descriptor left");
    }
    ++shared_->connections;
    (*adopt_)(UniqueFd(ends[0]));
    bridge_.emplace(shared_->loop, UniqueFd(ends[1]), this,
                    shared_->options.bridge);
  }

  Shared* const shared_;
  const AdoptConnection* const adopt_;
  grpc::CallbackServerContext* const context_;
  v1::Piece incoming_;
  v1::Piece outgoing_;
  Mutex mutex_;
  bool writing_ CANOPY_GUARDED_BY(mutex_) = false;
  bool cancelled_ CANOPY_GUARDED_BY(mutex_) = false;
  bool finished_ CANOPY_GUARDED_BY(mutex_) = false;
  std::optional<ByteBridge> bridge_;
};

}  // namespace

class RelayService::Impl : public v1::ToolRelay::CallbackService {
 public:
  Impl(EventLoop* loop, RelayOptions options)
      : shared_{loop, std::move(options)} {}

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest*,
                                     v1::DescribeReply* reply) override {
    const RelayOptions& options = shared_.options;
    reply->set_nspace(options.server.nspace);
    reply->set_rank(options.server.rank);
    reply->set_host(options.host);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerBidiReactor<v1::Piece, v1::Piece>* CarryLibpmix(
      grpc::CallbackServerContext* context) override {
    return new CarriedConnection(&shared_, &shared_.options.adopt_libpmix,
                                 context);
  }

  grpc::ServerBidiReactor<v1::Piece, v1::Piece>* CarryOpenPmix(
      grpc::CallbackServerContext* context) override {
    return new CarriedConnection(&shared_, &shared_.options.adopt_openpmix,
                                 context);
  }

 private:
  Shared shared_;
};

RelayService::RelayService(EventLoop* loop, RelayOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

RelayService::~RelayService() = default;

grpc::Service* RelayService::service() { return impl_.get(); }

}  // namespace canopy::relay
