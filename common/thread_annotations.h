// Annotations for the thread-safety analysis of clang, which `./test lint`
// runs. Other compilers ignore them. A capability is what a thread needs in
// order to access guarded data: a mutex that it holds, or a role that it has,
// such as that of an event loop's thread (event_loop.h).
#ifndef CANOPY_COMMON_THREAD_ANNOTATIONS_H_
#define CANOPY_COMMON_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define CANOPY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CANOPY_THREAD_ATTRIBUTE(x)
#endif

// On a class: its objects are capabilities, which messages call `name`.
#define CANOPY_CAPABILITY(name) CANOPY_THREAD_ATTRIBUTE(capability(name))
// On a class: its objects have a capability from construction to destruction.
#define CANOPY_SCOPED_CAPABILITY CANOPY_THREAD_ATTRIBUTE(scoped_lockable)

// On a member: the member, or the object that it points to, may be accessed
// only with `x`.
#define CANOPY_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(guarded_by(x))
#define CANOPY_PT_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(pt_guarded_by(x))

// On a function: the caller holds these capabilities, exclusively or shared
// with other readers; or the caller must not hold them, because the function
// acquires them.
#define CANOPY_REQUIRES(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define CANOPY_REQUIRES_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define CANOPY_EXCLUDES(...) \
  CANOPY_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// On a function: the capabilities that it acquires or releases; without an
// argument, its own object.
#define CANOPY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CANOPY_ACQUIRE_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define CANOPY_RELEASE(...) \
  CANOPY_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// For capabilities that may be held exclusively or shared.
#define CANOPY_RELEASE_GENERIC(...) \
  CANOPY_THREAD_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
#define CANOPY_TRY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// On a function that checks at run time that the caller has the capability.
#define CANOPY_ASSERT_CAPABILITY(x) \
  CANOPY_THREAD_ATTRIBUTE(assert_capability(x))

// On a function that returns a reference to a capability.
#define CANOPY_RETURN_CAPABILITY(x) CANOPY_THREAD_ATTRIBUTE(lock_returned(x))

// On a function whose rule the analysis cannot express. A comment beside it
// states the rule.
#define CANOPY_NO_THREAD_SAFETY_ANALYSIS \
  CANOPY_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // CANOPY_COMMON_THREAD_ANNOTATIONS_H_
