// Who may touch what, for the thread-safety analysis of clang, which `./test
// lint` runs; other compilers see nothing. A capability is what a thread must
// have to touch something: a mutex that it holds, or a role that it plays, like
// that of an event loop's thread (event_loop.h).
#ifndef CANOPY_COMMON_THREAD_ANNOTATIONS_H_
#define CANOPY_COMMON_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define CANOPY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CANOPY_THREAD_ATTRIBUTE(x)
#endif

// On a class: its objects are capabilities, `name` is what messages call them.
#define CANOPY_CAPABILITY(name) CANOPY_THREAD_ATTRIBUTE(capability(name))
// On a class: its objects have a capability from construction to destruction.
#define CANOPY_SCOPED_CAPABILITY CANOPY_THREAD_ATTRIBUTE(scoped_lockable)

// On a member: it, or what it points to, is touched with `x` only.
#define CANOPY_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(guarded_by(x))
#define CANOPY_PT_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(pt_guarded_by(x))

// On a function: the caller has these, exclusively or shared with other
// readers, or must not have them because the function acquires them itself.
#define CANOPY_REQUIRES(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define CANOPY_REQUIRES_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define CANOPY_EXCLUDES(...) \
  CANOPY_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// On a function: what it acquires or gives up; without an argument, its object.
#define CANOPY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CANOPY_ACQUIRE_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define CANOPY_RELEASE(...) \
  CANOPY_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// For what may be held either way.
#define CANOPY_RELEASE_GENERIC(...) \
  CANOPY_THREAD_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
#define CANOPY_TRY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// On a function that checks at run time that the caller has it.
#define CANOPY_ASSERT_CAPABILITY(x) \
  CANOPY_THREAD_ATTRIBUTE(assert_capability(x))

// On a function that gives a reference to a capability.
#define CANOPY_RETURN_CAPABILITY(x) CANOPY_THREAD_ATTRIBUTE(lock_returned(x))

// On a function whose rule the analysis can not express; say which beside it.
#define CANOPY_NO_THREAD_SAFETY_ANALYSIS \
  CANOPY_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // CANOPY_COMMON_THREAD_ANNOTATIONS_H_
