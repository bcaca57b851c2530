#include "client/session/stdin_push.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "common/posix/signal_block.h"
#include "common/status.h"

namespace canopy::client {
namespace {

constexpr size_t kPiece = size_t{64} << 10;

}  // namespace

// Shared with the thread, which is detached because a read may block for ever.
struct StdinPush::Shared {
  int fd = -1;
  UniqueFd stop;  // readable when stopped
  Pusher pusher;
  Mutex mu;
  CondVar changed;
  bool stopped CANOPY_GUARDED_BY(mu) = false;
  bool ended CANOPY_GUARDED_BY(mu) = false;

  bool IsOver() {
    const MutexLock lock(mu);
    return stopped || ended;
  }

  // Returns false if the push was stopped.
  bool WaitForInput() const {
    pollfd fds[2] = {{fd, POLLIN, 0}, {stop.get(), POLLIN, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    return fds[1].revents == 0;
  }

  // Blocks until the bytes are accepted. Returns false if reading must end.
  bool Push(std::string bytes, bool complete,
            const std::shared_ptr<Shared>& self) {
    struct Taken {
      bool done = false;
      int status = 0;
    };
    const auto taken = std::make_shared<Taken>();
    pusher(std::move(bytes), complete, [self, taken](int status) {
      const MutexLock lock(self->mu);
      *taken = {true, status};
      self->changed.NotifyAll();
    });
    const MutexLock lock(mu);
    while (!taken->done && !stopped) changed.Wait(mu);
    return taken->done && taken->status == kSuccess && !stopped;
  }
};

int StdinPush::Start(Pusher pusher) {
  const MutexLock lock(mu_);
  if (shared_ != nullptr && !shared_->IsOver()) return kErrExists;
  auto shared = std::make_shared<Shared>();
  shared->fd = fd_;
  shared->stop.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  shared->pusher = std::move(pusher);
  if (!shared->stop) return kErrOutOfResource;
  if (!StartThread(shared)) return kErrOutOfResource;
  shared_ = std::move(shared);
  return kSuccess;
}

// Starts the thread. It blocks all signals, because the program's own threads
// handle them.
bool StdinPush::StartThread(const std::shared_ptr<Shared>& shared) {
  const SignalBlock block;
  const auto entry = [](void* argument) -> void* {
    const std::unique_ptr<std::shared_ptr<Shared>> own(
        static_cast<std::shared_ptr<Shared>*>(argument));
    Run(*own);
    return nullptr;
  };
  auto own = std::make_unique<std::shared_ptr<Shared>>(shared);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, entry, own.get()) != 0) return false;
  pthread_detach(thread);
  (void)own.release();
  return true;
}

void StdinPush::Run(const std::shared_ptr<Shared>& shared) {
  std::string buffer(kPiece, '\0');
  while (shared->WaitForInput()) {
    const ssize_t n = read(shared->fd, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const bool end = n <= 0;
    if (!shared->Push(end ? "" : buffer.substr(0, static_cast<size_t>(n)), end,
                      shared) ||
        end) {
      break;
    }
  }
  const MutexLock lock(shared->mu);
  shared->ended = true;
}

void StdinPush::End(std::function<void(int status)> then) {
  std::shared_ptr<Shared> shared;
  {
    const MutexLock lock(mu_);
    shared = shared_;
  }
  if (shared == nullptr || shared->IsOver()) return then(kSuccess);
  Stop();
  // If the job has ended meanwhile, its input has ended too.
  shared->pusher("", true, [then = std::move(then)](int status) {
    then(status == kErrNotFound ? kSuccess : status);
  });
}

void StdinPush::Stop() {
  const MutexLock lock(mu_);
  if (shared_ == nullptr) return;
  const uint64_t one = 1;
  (void)!write(shared_->stop.get(), &one, sizeof one);
  const MutexLock inner(shared_->mu);
  shared_->stopped = true;
  shared_->changed.NotifyAll();
}

}  // namespace canopy::client
