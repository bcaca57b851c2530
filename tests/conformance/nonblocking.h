// The contract of calls that complete in a callback: the callback runs once,
// after the call has returned, and never if the call was rejected.
#ifndef CANOPY_TESTS_CONFORMANCE_NONBLOCKING_H_
#define CANOPY_TESTS_CONFORMANCE_NONBLOCKING_H_

#include "check.h"

enum { kMaxCalls = 256 };

// One call. The callback's data is a pointer to it.
typedef struct {
  pthread_t caller;
  Signal returned;
  Signal answered;
  bool accepted;
} Call;

static Call g_calls[kMaxCalls];
static int g_num_calls;

static inline Call *NewCall(void) {
  CHECK(g_num_calls < kMaxCalls, "more calls than there is room for");
  Call *call = &g_calls[g_num_calls++];
  const Signal never = SIGNAL_INIT;
  call->caller = pthread_self();
  call->returned = call->answered = never;
  call->accepted = false;
  return call;
}

// Called in the callback. A callback on the caller's own thread would deadlock,
// so the test fails at once.
static inline void Answered(Call *call, pmix_status_t status) {
  CHECK(!pthread_equal(call->caller, pthread_self()),
        "called back before the call has returned");
  WaitFor(&call->returned, 1);
  CHECK(call->accepted, "a call that was refused called back");
  Raise(&call->answered, status);
}

static inline void OnOperation(pmix_status_t status, void *call) {
  Answered(call, status);
}

static inline pmix_status_t Await(Call *call) {
  return WaitFor(&call->answered, 1);
}

// Calls `function` with these arguments and with a new Call as the callback's
// data, which is the last argument. The function must return the status `want`.
// Declares the variable `call`, which points to the new Call.
#define BEGINS(want, call, function, ...)    \
  Call *const call = NewCall();              \
  call->accepted = (want) == PMIX_SUCCESS;   \
  EXPECT(want, function(__VA_ARGS__, call)); \
  Raise(&call->returned, want)

// The callback must receive `want`.
#define ANSWERS(want, function, ...)                    \
  do {                                                  \
    BEGINS(PMIX_SUCCESS, call_, function, __VA_ARGS__); \
    EXPECT(want, Await(call_));                         \
  } while (0)

// The call must return `want`, and never call back.
#define REFUSES(want, function, ...)            \
  do {                                          \
    BEGINS(want, call_, function, __VA_ARGS__); \
  } while (0)

// Called when no more callbacks can arrive.
static inline void CallsAnsweredOnce(void) {
  for (int i = 0; i < g_num_calls; ++i) {
    const int count = CountOf(&g_calls[i].answered);
    CHECK(count == (g_calls[i].accepted ? 1 : 0),
          "call %d was answered %d times", i, count);
  }
}

#endif  // CANOPY_TESTS_CONFORMANCE_NONBLOCKING_H_
