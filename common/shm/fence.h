// Memory fences of the publication protocol.
#ifndef CANOPY_COMMON_SHM_FENCE_H_
#define CANOPY_COMMON_SHM_FENCE_H_

#include <atomic>

namespace canopy::shm {

// A build for ThreadSanitizer must not contain fences, because the sanitizer
// does not support them, and the compiler rejects them. On the platforms of
// ThreadSanitizer, a compiler barrier suffices for these two orders.
#if defined(__SANITIZE_THREAD__)
inline void AcquireFence() { __asm__ volatile("" ::: "memory"); }
inline void ReleaseFence() { __asm__ volatile("" ::: "memory"); }
#else
// Orders earlier loads before later ones.
inline void AcquireFence() {
  std::atomic_thread_fence(std::memory_order_acquire);
}
// Orders earlier stores before later ones.
inline void ReleaseFence() {
  std::atomic_thread_fence(std::memory_order_release);
}
#endif

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_FENCE_H_
