// PMIX_IOF_PUSH_STDIN: a thread reads this process's standard input and pushes
// the bytes.
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
  // Pushes some bytes, or the end; `then` is called once, on any thread.
  using Pusher = std::function<void(std::string bytes, bool complete,
                                    std::function<void(int status)> then)>;

  // `fd` is the input, which this object does not own.
  explicit StdinPush(int fd = 0) : fd_(fd) {}
  ~StdinPush() { Stop(); }
  StdinPush(const StdinPush&) = delete;
  StdinPush& operator=(const StdinPush&) = delete;

  // Starts reading. The thread continues to read when the previous bytes were
  // accepted. It ends with the first error or at the end of the input, which is
  // pushed too. Returns kErrExists if the thread reads already, and
  // kErrOutOfResource if no descriptor or thread is left.
  int Start(Pusher pusher);
  // Stops reading without waiting for the bytes that are being pushed.
  void Stop();
  // Stops, and pushes the end of the input. `then` gets the status of that
  // push, or kSuccess if the job has ended meanwhile. If the input is not being
  // read, `then` gets kSuccess within the call.
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
