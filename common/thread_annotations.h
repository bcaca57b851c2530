// Annotations for the thread-safety analysis of clang, which `./test lint`
// runs. Other compilers ignore them. A thread needs a capability in order to
// access guarded data. A capability is a mutex that the thread holds, or a role
// that the thread has, such as the role of an event loop's thread
// (event_loop.h).
#ifndef CANOPY_COMMON_THREAD_ANNOTATIONS_H_
#define CANOPY_COMMON_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define CANOPY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CANOPY_THREAD_ATTRIBUTE(x)
#endif

// Marks a class whose objects are capabilities. The messages of the analysis
// call them `name`.
#define CANOPY_CAPABILITY(name) CANOPY_THREAD_ATTRIBUTE(capability(name))
// Marks a class whose objects have a capability from construction to
// destruction.
#define CANOPY_SCOPED_CAPABILITY CANOPY_THREAD_ATTRIBUTE(scoped_lockable)

// Mark a member that may be accessed only with `x`, or that points to an object
// which may be accessed only with `x`.
#define CANOPY_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(guarded_by(x))
#define CANOPY_PT_GUARDED_BY(x) CANOPY_THREAD_ATTRIBUTE(pt_guarded_by(x))

// Mark a function whose caller holds these capabilities, exclusively or shared
// with other readers, or must not hold them, because the function acquires
// them.
#define CANOPY_REQUIRES(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define CANOPY_REQUIRES_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define CANOPY_EXCLUDES(...) \
  CANOPY_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// Name the capabilities that a function acquires or releases; without an
// argument, the function's own object.
#define CANOPY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CANOPY_ACQUIRE_SHARED(...) \
  CANOPY_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define CANOPY_RELEASE(...) \
  CANOPY_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// Marks a function that releases capabilities which may be held exclusively or
// shared.
#define CANOPY_RELEASE_GENERIC(...) \
  CANOPY_THREAD_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
#define CANOPY_TRY_ACQUIRE(...) \
  CANOPY_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// Marks a function that checks at run time that the caller has the capability.
#define CANOPY_ASSERT_CAPABILITY(x) \
  CANOPY_THREAD_ATTRIBUTE(assert_capability(x))

// Marks a function that returns a reference to a capability.
#define CANOPY_RETURN_CAPABILITY(x) CANOPY_THREAD_ATTRIBUTE(lock_returned(x))

// Marks a function whose rule the analysis cannot express. A comment beside it
// states the rule.
#define CANOPY_NO_THREAD_SAFETY_ANALYSIS \
  CANOPY_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // CANOPY_COMMON_THREAD_ANNOTATIONS_H_
