// Private to GrpcTransport: the two ends of a Link call, on a completion queue
// that one thread serves.
//
// The callback interface is not used: with this release of gRPC it passes each
// event between threads, which costs more than twice the CPU time and six times
// the thread switches of one polling thread (figures in README.md).
#ifndef CANOPY_SERVER_OVERLAY_GRPC_CALLS_H_
#define CANOPY_SERVER_OVERLAY_GRPC_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/mutex.h"
#include "protos/overlay.grpc.pb.h"
#include "server/overlay/bridge_stream.h"
#include "server/rpc/completion.h"
#include "server/rpc/deferred_reads.h"

namespace canopy::overlay {

using LinkService = v1::Overlay::WithRawMethod_Link<v1::Overlay::Service>;

// Counts calls, so that Stop can wait for the last one.
class CallCounter {
 public:
  // Enter and Leave count a call. WaitForNone waits until all counted calls
  // have left. Thread-safe.
  void Enter();
  void Leave();
  void WaitForNone();

 private:
  Mutex mutex_;
  CondVar none_;
  int alive_ CANOPY_GUARDED_BY(mutex_) = 0;
};

// The common part of both ends. Operations are counted; when the last pending
// one completes, the stream is notified and the call deletes itself.
class LinkCall : public Call, protected rpc::DeferredReads::Reader {
 public:
  LinkCall(const LinkCall&) = delete;
  LinkCall& operator=(const LinkCall&) = delete;

  const std::shared_ptr<BridgeStream>& stream() const { return stream_; }

  void Read() final;

 protected:
  // One operation of the call and its completion handler.
  class Operation : public rpc::Completion {
   public:
    Operation(LinkCall* call, void (*done)(LinkCall*, bool))
        : call_(call), done_(done) {}
    void Complete(bool ok) override {
      done_(call_, ok);
      call_->Returned();
    }

   private:
    LinkCall* const call_;
    void (*const done_)(LinkCall*, bool);
  };

  LinkCall(EventLoop* loop, rpc::DeferredReads* reads,
           std::shared_ptr<CallCounter> calls);
  ~LinkCall() override;

  // Counts an operation that is about to begin and returns its tag.
  rpc::Completion* Begin(Operation* operation) {
    ++pending_;
    return operation;
  }
  // Returns the tag of the operation that ends the call. It needs no Begin,
  // because the call counts it from the start.
  rpc::Completion* Last(Operation* operation) { return operation; }
  // Subtracts an operation that was counted but never completes.
  void Abandon() { --pending_; }
  // Returns how the call ended. Called when no operation is pending any more.
  virtual StreamEnd End() const = 0;

  void ResumeRead() final { BeginRead(); }
  virtual void BeginRead() = 0;
  // Ends deferred reads: no read may begin any more.
  void EndReads() { reads_->Forget(this); }

  static void ReadReturned(LinkCall* call, bool ok);
  static void WriteReturned(LinkCall* call, bool ok);

  rpc::DeferredReads* const reads_;
  const std::shared_ptr<CallCounter> calls_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
  Operation write_{this, &WriteReturned};
  Operation finish_{this, [](LinkCall*, bool) {}};

 private:
  void Returned();

  const std::shared_ptr<BridgeStream> stream_;
  size_t last_bytes_ = 0;  // size of the last message
  // Number of pending operations; the last operation counts from the start.
  int pending_ = 1;
};

// The listening side: waits for a call and then implements its stream.
class ServerCall final : public LinkCall {
 public:
  // Both callbacks are called on the loop thread.
  struct Events {
    std::function<void(std::shared_ptr<Stream>)> accept;
    // Called when a peer has authenticated itself. `peer` is its address in
    // gRPC's notation.
    std::function<void(const std::string& peer)> proved;
  };

  // Accepts the next incoming call, and then creates another ServerCall for the
  // call that follows it.
  static void Await(EventLoop* loop, rpc::DeferredReads* reads,
                    LinkService* service, grpc::ServerCompletionQueue* queue,
                    std::shared_ptr<CallCounter> calls, Events events);

  void Write(const Rope& frame) override;
  void Finish(const StreamEnd& end) override;
  void Cancel() override;
  void HalfClose() override {}
  void SetProved() override { events_.proved(context_.peer()); }

 private:
  ServerCall(EventLoop* loop, rpc::DeferredReads* reads, LinkService* service,
             grpc::ServerCompletionQueue* queue,
             std::shared_ptr<CallCounter> calls, Events events);

  void BeginRead() override;
  static void Arrived(LinkCall* call, bool ok);
  static void Ended(LinkCall* call, bool ok);
  StreamEnd End() const override;

  EventLoop* const loop_;
  LinkService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  const Events events_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> io_;
  Operation read_{this, &ReadReturned};
  Operation arrived_{this, &Arrived};
  Operation ended_{this, &Ended};
  bool cancelled_ = false;
};

// The dialling side.
class ClientCall final : public LinkCall {
 public:
  // `derived` is true if TLS identities are derived from the cluster key, so
  // that a failed TLS handshake can be explained to the user.
  ClientCall(EventLoop* loop, rpc::DeferredReads* reads,
             std::shared_ptr<grpc::Channel> channel,
             grpc::CompletionQueue* queue, std::shared_ptr<CallCounter> calls,
             bool derived);

  // Starts the call; must be called before every other method.
  void Start();
  void Write(const Rope& frame) override;
  void Finish(const StreamEnd& end) override;
  void Cancel() override;
  void HalfClose() override;

 private:
  void BeginRead() override;
  static void ReadBack(LinkCall* call, bool ok);
  StreamEnd End() const override;
  void FinishNow();

  // Bits of `busy_`: gRPC accepts no Finish while a Read is in progress.
  static constexpr int kReading = 1;
  static constexpr int kFinishing = 2;

  const std::shared_ptr<grpc::Channel> channel_;
  const bool derived_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> io_;
  int busy_ = 0;
  Operation read_back_{this, &ReadBack};
  Operation half_closed_{this, [](LinkCall*, bool) {}};
  grpc::Status status_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_CALLS_H_
