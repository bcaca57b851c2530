// Threads that remove files, so that a large directory or a file system that
// does not answer holds up neither the caller nor the files of other jobs.
#ifndef CANOPY_SERVER_CLEANUP_REMOVAL_THREADS_H_
#define CANOPY_SERVER_CLEANUP_REMOVAL_THREADS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace canopy::cleanup {

struct RemovalLimits {
  // The number of jobs whose work is done at the same time; other jobs wait for
  // a thread.
  size_t threads = 16;
  // The time that Run waits for work that a thread begins at once. Most
  // removals take less, so the files of a job are usually gone when the job is.
  std::chrono::milliseconds wait{10};
  // The time that the destructor waits for unfinished work.
  std::chrono::milliseconds end_wait{10000};
};

// Used by one thread. Its own threads are created when there is work, with all
// signals blocked, and end when no work is left.
class RemovalThreads {
 public:
  using Work = std::function<void()>;

  explicit RemovalThreads(const RemovalLimits& limits = {});
  // Waits for unfinished work, for at most RemovalLimits::end_wait. Work that
  // takes longer continues as long as the process lives.
  ~RemovalThreads();
  RemovalThreads(const RemovalThreads&) = delete;
  RemovalThreads& operator=(const RemovalThreads&) = delete;

  // Calls `work` in a thread, after the job's earlier work. If the system
  // allows no more threads, Run itself calls it.
  void Run(const std::string& job, Work work);

 private:
  struct State;

  static void Serve(const std::shared_ptr<State>& state, std::string job);

  const RemovalLimits limits_;
  // Shared with the threads, which may outlive this object.
  const std::shared_ptr<State> state_;
};

}  // namespace canopy::cleanup

#endif  // CANOPY_SERVER_CLEANUP_REMOVAL_THREADS_H_
