// gRPC's threads that run callbacks, kept.
#ifndef CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_
#define CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_

namespace canopy::scheduler {

// All channels and servers of a process share those threads, which end with the
// last that has used them. When one of them is the one that drops it, gRPC 1.51
// frees what it still stands on. Keeps them until the process ends; any thread,
// any number of times.
void KeepCallbackThreads();

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_
