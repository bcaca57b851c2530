#include "server/rpc/loop_queue.h"

#include <grpc/support/time.h>
#include <grpcpp/completion_queue.h>
#include <poll.h>

#include <list>
#include <vector>

#include "server/rpc/completion.h"
#include "server/rpc/prepare_grpc.h"
#include "server/rpc/queue_wake.h"

namespace canopy::rpc {
namespace {

using NextStatus = grpc::CompletionQueue::NextStatus;

// The maximum number of completions in one round, after which the loop's other
// work gets its turn. A round may end without a poll, as after a write; the
// same number bounds the completions of successive rounds without a poll.
constexpr int kMaxCompletions = 256;

// The wait of this thread's LoopQueue, as the poll hook sees it.
struct Waiting {
  int fd;  // the loop's epoll descriptor
  QueueWake* wake;
  DeferredReads* reads;
  bool fetching = false;  // only fetch available completions: no system call
  bool asked = false;     // gRPC has called the hook
  bool polled = false;
  bool ready = false;         // the loop's descriptor is readable
  bool wake_pending = false;  // the wake-up's completion is in the queue
};

thread_local Waiting* waiting = nullptr;

bool OurTurn(Waiting* w, int others) {
  // If gRPC's own descriptors have events, gRPC returns or polls again without
  // a wake-up.
  return w->ready && !w->wake_pending && others <= 0;
}

// Ends the wait by a completion, because gRPC returns for no other reason.
void Wake(Waiting* w) {
  w->wake_pending = true;
  w->wake->Post();
}

int PollWithLoop(pollfd* fds, nfds_t count, int timeout_ms) {
  Waiting* const w = waiting;
  if (w == nullptr) return poll(fds, count, timeout_ms);
  w->asked = true;
  if (w->fetching) return 0;
  if (!w->wake_pending && w->reads->HaveReadable()) {
    Wake(w);
    return 0;
  }
  thread_local std::vector<pollfd> all;
  all.assign(fds, fds + count);
  all.push_back({w->fd, POLLIN, 0});
  int found = poll(all.data(), all.size(), timeout_ms);
  w->polled = true;
  if (found > 0) {
    for (nfds_t i = 0; i < count; ++i) {
      fds[i].revents = all[i].revents;
      if (fds[i].revents != 0) w->reads->Found(fds[i].fd);
    }
    if (all.back().revents != 0) {
      w->ready = true;
      --found;
    }
  }
  if (OurTurn(w, found)) Wake(w);
  return found;
}

gpr_timespec Past() { return gpr_inf_past(GPR_CLOCK_MONOTONIC); }

gpr_timespec DeadlineOf(int timeout_ms) {
  if (timeout_ms < 0) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
}

void PrepareOnce() {
  static const bool once = [] {
    PrepareGrpc(PollWithLoop);
    return true;
  }();
  (void)once;
}

}  // namespace

struct LoopQueue::Impl {
  explicit Impl(EventLoop* the_loop) : loop(the_loop), reads(the_loop) {}

  EventLoop* loop;
  DeferredReads reads;
  grpc::CompletionQueue* queue = nullptr;
  int unpolled = 0;  // completions since the loop's descriptors were polled
  // The wake-ups of all queues that were attached. Each wake-up is kept,
  // because its completion may still be in its queue. The last one is in use.
  std::list<QueueWake> wakes;
};

LoopQueue::LoopQueue(EventLoop* loop) {
  PrepareOnce();
  impl_ = std::make_unique<Impl>(loop);
}

LoopQueue::~LoopQueue() { Detach(); }

absl::Status LoopQueue::Attach(grpc::CompletionQueue* queue) {
  Waiting probe{-1, nullptr, &impl_->reads};
  probe.fetching = true;
  void* tag = nullptr;
  bool ok = false;
  waiting = &probe;
  while (!probe.asked &&
         queue->AsyncNext(&tag, &ok, Past()) == NextStatus::GOT_EVENT) {
    static_cast<Completion*>(tag)->Complete(ok);
  }
  waiting = nullptr;
  if (!probe.asked) {
    return absl::FailedPreconditionError(
        "gRPC does not wait where the agent has asked it to");
  }
  impl_->queue = queue;
  impl_->wakes.emplace_back(queue);
  impl_->loop->SetWaiter(this);
  return absl::OkStatus();
}

void LoopQueue::Detach() {
  if (impl_->queue == nullptr) return;
  impl_->reads.WakeAll();
  impl_->loop->SetWaiter(nullptr);
  impl_->queue = nullptr;
}

DeferredReads* LoopQueue::reads() { return &impl_->reads; }

bool LoopQueue::Wait(int fd, int timeout_ms) {
  grpc::CompletionQueue* const queue = impl_->queue;
  DeferredReads* const reads = &impl_->reads;
  reads->BeginRound();
  Waiting state{fd, &impl_->wakes.back(), reads};
  void* tag = nullptr;
  bool ok = false;
  gpr_timespec deadline = DeadlineOf(timeout_ms);
  int taken = 0;
  for (; taken < kMaxCompletions; ++taken) {
    waiting = &state;
    const NextStatus status = queue->AsyncNext(&tag, &ok, deadline);
    waiting = nullptr;
    if (status == NextStatus::GOT_EVENT) {
      static_cast<Completion*>(tag)->Complete(ok);
    } else if (!reads->HaveReadable()) {
      break;
    }
    reads->WakeReadable();
    state.fetching = true;
    deadline = Past();
  }
  if (!state.polled && taken > 0 &&
      (impl_->unpolled += taken) < kMaxCompletions) {
    return false;
  }
  impl_->unpolled = 0;
  return state.ready || !state.polled;
}

}  // namespace canopy::rpc
