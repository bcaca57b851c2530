// PMIX_IOF_PUSH_STDIN: a thread reads our own standard input and pushes it,
// piece by piece.
#ifndef CANOPY_CLIENT_SESSION_STDIN_PUSH_H_
#define CANOPY_CLIENT_SESSION_STDIN_PUSH_H_

#include <functional>
#include <memory>
#include <string>

#include "common/mutex.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {

// Thread-safe.
class StdinPush {
 public:
  // Pushes one piece, or the end; `then` is called once, by any thread.
  using Pusher = std::function<void(std::string bytes, bool complete,
                                    std::function<void(int status)> then)>;

  // `fd`: what is read. Not owned.
  explicit StdinPush(int fd = 0) : fd_(fd) {}
  // Stops.
  ~StdinPush() { Stop(); }
  StdinPush(const StdinPush&) = delete;
  StdinPush& operator=(const StdinPush&) = delete;

  // The next piece is read when the one before was taken. Ends with the input,
  // which is pushed too, or with the first error. kErrExists: it is under way;
  // kErrOutOfResource: no descriptor or thread is left.
  int Start(Pusher pusher);
  // Nothing more is read. Does not wait for what is pushed.
  void Stop();
  // Stops, and pushes the end of the input. `then` gets the status of that
  // push; kSuccess if the job has ended meanwhile, and, within the call, if
  // nothing is under way.
  void End(std::function<void(int status)> then);

 private:
  struct Shared;

  static bool StartThread(const std::shared_ptr<Shared>& shared);
  static void Run(const std::shared_ptr<Shared>& shared);

  const int fd_;
  Mutex mu_;
  std::shared_ptr<Shared> shared_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_STDIN_PUSH_H_
