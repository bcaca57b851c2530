// Keeps gRPC's threads for callbacks alive.
#ifndef CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_
#define CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_

namespace canopy::scheduler {

// All channels and servers of a process share gRPC's threads for callbacks,
// which end with their last user. If one of the threads itself destroys this
// last user, gRPC 1.51 frees memory that the thread still uses. This function
// keeps the threads until the process ends. Thread-safe; may be called any
// number of times.
void KeepCallbackThreads();

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_CALLBACK_THREADS_H_
