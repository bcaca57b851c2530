// Fences of the publication protocol.
#ifndef CANOPY_COMMON_SHM_FENCE_H_
#define CANOPY_COMMON_SHM_FENCE_H_

#include <atomic>

namespace canopy::shm {

// ThreadSanitizer knows no fences, and the compiler refuses them there. It
// runs where a compiler barrier is enough for these two orders.
#if defined(__SANITIZE_THREAD__)
inline void AcquireFence() { __asm__ volatile("" ::: "memory"); }
inline void ReleaseFence() { __asm__ volatile("" ::: "memory"); }
#else
// Earlier loads come before later ones.
inline void AcquireFence() {
  std::atomic_thread_fence(std::memory_order_acquire);
}
// Earlier stores come before later ones.
inline void ReleaseFence() {
  std::atomic_thread_fence(std::memory_order_release);
}
#endif

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_FENCE_H_
