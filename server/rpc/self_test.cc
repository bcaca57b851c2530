#include "server/rpc/self_test.h"

#include <absl/time/clock.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/event_loop.h"
#include "server/rpc/bare_server.h"
#include "server/rpc/completion.h"
#include "server/rpc/loop_queue.h"
#include "server/rpc/tcp_pair.h"

namespace canopy::rpc {
namespace {

// A time longer than any step takes on a usable machine.
constexpr int64_t kStepNs = 3000000000;
constexpr size_t kMessageBytes = 50;
// The number of messages. A read is deferred after a few messages; a stalled
// process may miss an opportunity.
constexpr int kMessages = 50;

class Tag final : public Completion {
 public:
  explicit Tag(std::function<void(bool)> done = {}) : done_(std::move(done)) {}
  void Complete(bool ok) override {
    ++completed_;
    if (done_) done_(ok);
  }
  int completed() const { return completed_; }

 private:
  const std::function<void(bool)> done_;
  int completed_ = 0;
};

grpc::ByteBuffer Message() {
  const grpc::Slice slice(std::string(kMessageBytes, 'x'));
  return grpc::ByteBuffer(&slice, 1);
}

// The driver under test serves the server's queue; the client's queue is
// polled. Only the server's reads are deferred.
class SelfTest final : private DeferredReads::Reader {
 public:
  ~SelfTest() override;
  absl::Status Run();

 private:
  absl::Status Connect();
  absl::Status TestWakeUps();
  absl::Status TestDeferredReads();
  bool SendOne();
  bool Await(const std::function<bool()>& done);
  void ServeClient();
  void ResumeRead() override { BeginRead(); }
  void BeginRead() { server_io_.Read(&in_, &read_); }
  void OnRead(bool ok);

  EventLoop loop_;
  LoopQueue driver_{&loop_};

  grpc::AsyncGenericService service_;
  grpc::GenericServerContext server_context_;
  grpc::GenericServerAsyncReaderWriter server_io_{&server_context_};
  std::unique_ptr<grpc::ServerCompletionQueue> server_queue_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ByteBuffer in_;
  Tag arrived_{[this](bool ok) { called_ = ok; }};
  Tag read_{[this](bool ok) { OnRead(ok); }};
  Tag ended_;
  bool called_ = false;  // the client's call has arrived
  int received_ = 0;
  int deferred_ = 0;  // number of deferred reads

  // Completed and posted by another thread.
  grpc::Alarm alarm_;
  Tag rung_;
  bool posted_ = false;

  grpc::CompletionQueue client_queue_;
  grpc::ClientContext client_context_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::Status status_;
  Tag started_, written_, finished_;
};

SelfTest::~SelfTest() {
  driver_.reads()->Forget(this);
  driver_.Detach();
  if (called_) {
    server_io_.Finish(grpc::Status::CANCELLED, &ended_);
  }
  if (call_ != nullptr) {
    client_context_.TryCancel();
    call_->Finish(&status_, &finished_);
  }
  client_queue_.Shutdown();
  ServeToEnd(&client_queue_);
  if (server_queue_ == nullptr) return;
  // Shutdown blocks until this thread has completed the pending operations.
  std::thread ender([this] {
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(absl::Now()));
    server_queue_->Shutdown();
  });
  ServeToEnd(server_queue_.get());
  ender.join();
}

absl::Status SelfTest::Run() {
  if (absl::Status status = Connect(); !status.ok()) return status;
  if (absl::Status status = TestWakeUps(); !status.ok()) return status;
  return TestDeferredReads();
}

absl::Status SelfTest::Connect() {
  const absl::StatusOr<TcpPair> sockets = MakeTcpPair();
  if (!sockets.ok()) return sockets.status();
  grpc::ServerBuilder builder;
  MakeBare(&builder);
  builder.RegisterAsyncGenericService(&service_);
  server_queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    close(sockets->near);
    close(sockets->far);
    return absl::InternalError("no server could be started");
  }
  service_.RequestCall(&server_context_, &server_io_, server_queue_.get(),
                       server_queue_.get(), &arrived_);
  if (absl::Status status = driver_.Attach(server_queue_.get()); !status.ok()) {
    close(sockets->near);
    close(sockets->far);
    return status;
  }
  grpc::AddInsecureChannelFromFd(server_.get(), sockets->near);
  stub_ = std::make_unique<grpc::GenericStub>(
      grpc::CreateInsecureChannelFromFd("self-test", sockets->far));
  call_ =
      stub_->PrepareCall(&client_context_, "/canopy/SelfTest", &client_queue_);
  call_->StartCall(&started_);
  if (!Await([this] { return started_.completed() > 0 && called_; })) {
    return absl::InternalError("a call did not arrive");
  }
  BeginRead();
  return absl::OkStatus();
}

// Tests a completion and a post from another thread while this thread sleeps in
// gRPC.
absl::Status SelfTest::TestWakeUps() {
  const int64_t begun = EventLoop::Now();
  std::thread other([this] {
    alarm_.Set(server_queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), &rung_);
    loop_.Post([this] { posted_ = true; });
  });
  while ((!posted_ || rung_.completed() == 0) &&
         EventLoop::Now() - begun < kStepNs) {
    loop_.RunOnce(static_cast<int>(kStepNs / 1000000));
  }
  other.join();
  if (EventLoop::Now() - begun < kStepNs) return absl::OkStatus();
  return absl::InternalError("a wake-up did not end gRPC's wait");
}

absl::Status SelfTest::TestDeferredReads() {
  DeferredReads* const reads = driver_.reads();
  reads->SetRecordBytes(0);
  for (int i = 0; i < kMessages; ++i) {
    const int deferred = deferred_;
    const uint64_t timed_out = reads->timed_out();
    if (!SendOne()) return absl::InternalError("a message did not arrive");
    // The next message must end the wait of a read that this message has left
    // deferred.
    if (deferred_ == deferred) continue;
    if (!SendOne()) {
      return absl::InternalError("a deferred read did not get its message");
    }
    if (reads->timed_out() == timed_out) return absl::OkStatus();
  }
  return deferred_ == 0
             ? absl::InternalError("no read could be deferred")
             : absl::InternalError("deferred reads end by their time limit");
}

bool SelfTest::SendOne() {
  const int before = received_;
  const int written = written_.completed();
  call_->Write(Message(), &written_);
  return Await([this, before, written] {
    return received_ > before && written_.completed() > written;
  });
}

void SelfTest::OnRead(bool ok) {
  if (!ok) return;
  ++received_;
  if (driver_.reads()->Defer(this, kMessageBytes)) {
    ++deferred_;
  } else {
    BeginRead();
  }
}

void SelfTest::ServeClient() {
  void* tag = nullptr;
  bool ok = false;
  while (
      client_queue_.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) ==
      grpc::CompletionQueue::GOT_EVENT) {
    static_cast<Completion*>(tag)->Complete(ok);
  }
}

bool SelfTest::Await(const std::function<bool()>& done) {
  const int64_t begun = EventLoop::Now();
  while (!done() && EventLoop::Now() - begun < kStepNs) {
    ServeClient();
    loop_.RunOnce(0);
  }
  return done();
}

}  // namespace

absl::Status TestInLoopDriver() {
  SelfTest test;
  return test.Run();
}

}  // namespace canopy::rpc
