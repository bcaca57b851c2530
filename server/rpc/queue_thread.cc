#include "server/rpc/queue_thread.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <thread>
#include <utility>
#include <vector>

#include "common/posix/start_thread.h"
#include "server/rpc/completion.h"

namespace canopy::rpc {
namespace {

class EndTag final : public Completion {
 public:
  void Complete(bool) override {}
};

}  // namespace

struct QueueThread::Impl : public std::enable_shared_from_this<Impl> {
  using Completed = std::pair<Completion*, bool>;

  explicit Impl(EventLoop* the_loop) : loop(the_loop), reads(the_loop) {}

  void Serve();
  void HandOver(Completed completed);
  void CompleteAll();

  EventLoop* const loop;
  // Connections are never reported to this object as readable, so it never
  // defers a read.
  DeferredReads reads;
  grpc::CompletionQueue* queue = nullptr;
  std::thread thread;
  EndTag end;
  absl::Mutex mutex;
  std::vector<Completed> completed ABSL_GUARDED_BY(mutex);
};

void QueueThread::Impl::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok) && tag != &end) {
    HandOver({static_cast<Completion*>(tag), ok});
  }
}

void QueueThread::Impl::HandOver(Completed one) {
  {
    absl::MutexLock lock(&mutex);
    completed.push_back(one);
    if (completed.size() > 1) return;
  }
  loop->Post([self = shared_from_this()] { self->CompleteAll(); });
}

void QueueThread::Impl::CompleteAll() {
  loop->AssertOnThread();
  std::vector<Completed> taken;
  {
    absl::MutexLock lock(&mutex);
    taken.swap(completed);
  }
  for (const auto& [completion, ok] : taken) completion->Complete(ok);
}

QueueThread::QueueThread(EventLoop* loop)
    : impl_(std::make_shared<Impl>(loop)) {}

QueueThread::~QueueThread() { Detach(); }

absl::Status QueueThread::Attach(grpc::CompletionQueue* queue) {
  impl_->queue = queue;
  Result<std::thread> thread =
      StartThread([impl = impl_.get()] { impl->Serve(); });
  if (!thread.ok()) {
    impl_->queue = nullptr;
    return absl::ResourceExhaustedError(thread.status().message());
  }
  impl_->thread = *std::move(thread);
  return absl::OkStatus();
}

void QueueThread::Detach() {
  if (impl_->queue == nullptr) return;
  // Ends the queue's wait by a completion, because gRPC returns for no other
  // reason.
  grpc::Alarm alarm;
  Completion* const end = &impl_->end;
  alarm.Set(impl_->queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), end);
  impl_->thread.join();
  impl_->queue = nullptr;
  impl_->CompleteAll();
}

DeferredReads* QueueThread::reads() { return &impl_->reads; }

}  // namespace canopy::rpc
