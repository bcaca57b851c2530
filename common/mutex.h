// The mutexes and the condition variable of the C++ library, annotated for the
// analysis of thread_annotations.h. They cost no more than the originals.
#ifndef CANOPY_COMMON_MUTEX_H_
#define CANOPY_COMMON_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "common/thread_annotations.h"

namespace canopy {

class CANOPY_CAPABILITY("mutex") Mutex {
 public:
  void Lock() CANOPY_ACQUIRE() { mutex_.lock(); }
  void Unlock() CANOPY_RELEASE() { mutex_.unlock(); }
  bool TryLock() CANOPY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Admits one writer, or any number of readers.
class CANOPY_CAPABILITY("mutex") SharedMutex {
 public:
  void Lock() CANOPY_ACQUIRE() { mutex_.lock(); }
  void Unlock() CANOPY_RELEASE() { mutex_.unlock(); }
  void LockShared() CANOPY_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void UnlockShared() CANOPY_RELEASE_GENERIC() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds a mutex while it lives. Code of its scope that must run without the
// mutex unlocks the mutex itself and locks it again.
class CANOPY_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CANOPY_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() CANOPY_RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CANOPY_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) CANOPY_ACQUIRE(mutex)
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~WriterLock() CANOPY_RELEASE() { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class CANOPY_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) CANOPY_ACQUIRE_SHARED(mutex)
      : mutex_(mutex) {
    mutex_.LockShared();
  }
  ~ReaderLock() CANOPY_RELEASE_GENERIC() { mutex_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// A wait may end spuriously, so callers test their condition in a loop, in
// which the analysis sees that they hold the mutex.
class CondVar {
 public:
  void Wait(Mutex& mutex) CANOPY_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Waits until a notification or `time`. Returns false if `time` has come.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time)
      CANOPY_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, time);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_MUTEX_H_
