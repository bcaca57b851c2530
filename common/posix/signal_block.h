// Blocks the signals of a thread.
#ifndef CANOPY_COMMON_POSIX_SIGNAL_BLOCK_H_
#define CANOPY_COMMON_POSIX_SIGNAL_BLOCK_H_

#include <signal.h>

namespace canopy {

// All signals of the calling thread are blocked while this object lives. A
// thread that is started meanwhile has them blocked from its beginning, so the
// program's handlers run in the program's own threads.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_SIGNAL_BLOCK_H_
