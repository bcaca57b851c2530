// Event handlers within one process: registration, the order of a chain, its
// results, ranges and filters, events that arrive before their handler.
#include "check.h"

enum { kCode = -30001, kOther = -30002, kUnasked = -30003, kLate = -30004 };

// ------------------------------------------------------------------ trace ---

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static char g_trace[1024];  // names of the called handlers, in order
static int g_ends;          // chains that reached the handler named "end"
static char g_results[1024];

static void Trace(const char *name) {
  pthread_mutex_lock(&g_lock);
  if (g_trace[0] != '\0') strcat(g_trace, " ");
  strcat(g_trace, name);
  g_ends += strcmp(name, "end") == 0;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_lock);
}

static void ForgetTrace(void) {
  pthread_mutex_lock(&g_lock);
  g_trace[0] = g_results[0] = '\0';
  g_ends = 0;
  pthread_mutex_unlock(&g_lock);
}

static void AwaitEnds(int ends) {
  pthread_mutex_lock(&g_lock);
  while (g_ends < ends) pthread_cond_wait(&g_changed, &g_lock);
  pthread_mutex_unlock(&g_lock);
}

static const pmix_info_t *FindInfo(const pmix_info_t *info, size_t ninfo,
                                   const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, key) == 0) return &info[i];
  }
  return NULL;
}

static void Pass(pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata) {
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

// Writes the text that the handler's return object points to into the trace.
static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id;
  (void)results;
  (void)nresults;
  CHECK(status <= kCode && status >= kLate, "status %d", status);
  CHECK(source->rank == g_self.rank, "source %u", source->rank);
  const pmix_info_t *object = FindInfo(info, ninfo, PMIX_EVENT_RETURN_OBJECT);
  CHECK(object != NULL && object->value.type == PMIX_POINTER,
        "no return object");
  Trace(object->value.data.ptr);
  Pass(cbfunc, cbdata);
}

// -------------------------------------------------------------- handlers ---

static size_t Register(pmix_status_t *codes, size_t ncodes, const char *name,
                       Directives with) {
  pmix_info_t *object = NextInfo(&with, PMIX_EVENT_RETURN_OBJECT);
  object->value.type = PMIX_POINTER;
  object->value.data.ptr = (void *)name;
  AddText(&with, PMIX_EVENT_HDLR_NAME, name);
  const pmix_status_t reference = PMIx_Register_event_handler(
      codes, ncodes, with.info, with.count, OnEvent, NULL, NULL);
  CHECK(reference >= 0, "no handler %s: %s", name,
        PMIx_Error_string(reference));
  return (size_t)reference;
}

static size_t Single(const char *name, Directives with) {
  pmix_status_t code = kCode;
  return Register(&code, 1, name, with);
}

static void Refuse(pmix_status_t want, Directives with) {
  pmix_status_t code = kCode;
  EXPECT(want, PMIx_Register_event_handler(&code, 1, with.info, with.count,
                                           OnEvent, NULL, NULL));
}

static void Remove(size_t reference) {
  OK(PMIx_Deregister_event_handler(reference, NULL, NULL));
}

static void Notify(pmix_status_t code, const Directives *with) {
  OK(PMIx_Notify_event(code, NULL, PMIX_RANGE_PROC_LOCAL,
                       with == NULL ? NULL : with->info,
                       with == NULL ? 0 : with->count, NULL, NULL));
}

static void ExpectTrace(const char *want) {
  pthread_mutex_lock(&g_lock);
  CHECK(strcmp(g_trace, want) == 0, "called '%s', not '%s'", g_trace, want);
  pthread_mutex_unlock(&g_lock);
  ForgetTrace();
}

static const Directives kNone = {.count = 0};

static Directives Relative(const char *key, const char *name) {
  Directives with = {.count = 0};
  AddText(&with, key, name);
  return with;
}

// ------------------------------------------------------------------ rules ---

static void Order(void) {
  pmix_status_t codes[] = {kOther, kCode};
  pmix_status_t code = kCode;
  size_t ids[16];
  size_t n = 0;
  ids[n++] = Single("end", Flag(PMIX_EVENT_HDLR_LAST));
  ids[n++] = Register(NULL, 0, "default", kNone);
  ids[n++] = Register(codes, 2, "multi", kNone);
  ids[n++] = Single("s2", kNone);
  ids[n++] = Single("s9", Flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY));
  ids[n++] = Single("s8", Flag(PMIX_EVENT_HDLR_APPEND));
  ids[n++] = Single("s3", kNone);
  ids[n++] = Single("s1", Flag(PMIX_EVENT_HDLR_PREPEND));
  ids[n++] = Single("s0", Flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  ids[n++] = Single("first", Flag(PMIX_EVENT_HDLR_FIRST));
  ids[n++] = Register(codes, 2, "m0", Flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  ids[n++] = Register(NULL, 0, "d9", Flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY));
  ids[n++] =
      Register(&code, 1, "before", Relative(PMIX_EVENT_HDLR_BEFORE, "s2"));
  ids[n++] = Register(&code, 1, "after", Relative(PMIX_EVENT_HDLR_AFTER, "s2"));
  Notify(kCode, NULL);
  AwaitEnds(1);
  ExpectTrace("first s0 s1 before s2 after s3 s8 s9 m0 multi default d9 end");
  // There can be only one handler of each of these kinds. When it is removed,
  // another one can be registered.
  Refuse(PMIX_ERR_EVENT_REGISTRATION, Flag(PMIX_EVENT_HDLR_FIRST));
  Refuse(PMIX_ERR_EVENT_REGISTRATION, Flag(PMIX_EVENT_HDLR_LAST));
  Refuse(PMIX_ERR_EVENT_REGISTRATION, Flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  Refuse(PMIX_ERR_EVENT_REGISTRATION, Flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY));
  for (size_t i = 1; i < n; ++i) Remove(ids[i]);
  ids[1] = Single("first", Flag(PMIX_EVENT_HDLR_FIRST));
  ids[2] = Register(&code, 1, "lost", Relative(PMIX_EVENT_HDLR_AFTER, "s2"));
  ids[3] = Single("s0", Flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY));
  Notify(kCode, NULL);
  AwaitEnds(1);
  ExpectTrace("first s0 lost end");
  for (size_t i = 0; i < 4; ++i) Remove(ids[i]);
}

static void Selection(void) {
  pmix_status_t codes[] = {kOther, kCode};
  const size_t end = Register(codes, 2, "end", Flag(PMIX_EVENT_HDLR_LAST));
  const size_t single = Single("single", kNone);
  const size_t fallback = Register(NULL, 0, "default", kNone);
  const Directives only = Flag(PMIX_EVENT_NON_DEFAULT);
  Notify(kOther, NULL);
  AwaitEnds(1);
  ExpectTrace("default end");
  Notify(kOther, &only);
  AwaitEnds(1);
  ExpectTrace("end");
  Notify(kCode, &only);
  AwaitEnds(1);
  ExpectTrace("single end");
  Notify(kCode, NULL);
  AwaitEnds(1);
  ExpectTrace("single default end");
  Remove(single);
  Remove(fallback);
  Remove(end);
}

// A handler that returns ACTION_COMPLETE is the last handler of the chain.
static void Completes(size_t id, pmix_status_t status,
                      const pmix_proc_t *source, pmix_info_t info[],
                      size_t ninfo, pmix_info_t results[], size_t nresults,
                      pmix_event_notification_cbfunc_fn_t cbfunc,
                      void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  Trace("complete");
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void EndOfChain(void) {
  pmix_status_t code = kCode;
  const Directives first = Flag(PMIX_EVENT_HDLR_FIRST);
  const pmix_status_t stop = PMIx_Register_event_handler(
      &code, 1, (pmix_info_t *)first.info, first.count, Completes, NULL, NULL);
  CHECK(stop >= 0, "%s", PMIx_Error_string(stop));
  const size_t never = Single("never", kNone);
  pmix_status_t other = kOther;
  const size_t end = Register(&other, 1, "end", kNone);
  Notify(kCode, NULL);
  Notify(kOther, NULL);
  AwaitEnds(1);
  ExpectTrace("complete end");
  Remove((size_t)stop);
  Remove(never);
  Remove(end);
}

static void GivesResult(size_t id, pmix_status_t status,
                        const pmix_proc_t *source, pmix_info_t info[],
                        size_t ninfo, pmix_info_t results[], size_t nresults,
                        pmix_event_notification_cbfunc_fn_t cbfunc,
                        void *cbdata) {
  (void)id, (void)status, (void)source, (void)results;
  CHECK(nresults == 0, "the first of the chain has %zu results", nresults);
  const pmix_info_t *text = FindInfo(info, ninfo, PMIX_EVENT_TEXT_MESSAGE);
  CHECK(text != NULL && strcmp(text->value.data.string, "why") == 0,
        "the event's text is lost");
  const pmix_info_t *proxy = FindInfo(info, ninfo, PMIX_EVENT_PROXY);
  CHECK(proxy != NULL && proxy->value.type == PMIX_PROC &&
            proxy->value.data.proc->rank == g_self.rank,
        "the event's proxy is lost");
  Directives result = {.count = 0};
  AddU32(&result, "test.result", 42);
  cbfunc(PMIX_EVENT_PARTIAL_ACTION_TAKEN, result.info, result.count, NULL, NULL,
         cbdata);
}

static void SeesResult(size_t id, pmix_status_t status,
                       const pmix_proc_t *source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cbfunc,
                       void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  const pmix_info_t *result = FindInfo(results, nresults, "test.result");
  CHECK(result != NULL && result->value.data.uint32 == 42,
        "no result of the handler before");
  const pmix_info_t *of = FindInfo(results, nresults, "giver");
  CHECK(of != NULL && of->value.type == PMIX_STATUS &&
            of->value.data.status == PMIX_EVENT_PARTIAL_ACTION_TAKEN,
        "no status of the handler before");
  Trace("end");
  Pass(cbfunc, cbdata);
}

static void Results(void) {
  pmix_status_t code = kCode;
  Directives giver = Flag(PMIX_EVENT_HDLR_FIRST);
  AddText(&giver, PMIX_EVENT_HDLR_NAME, "giver");
  const pmix_status_t first = PMIx_Register_event_handler(
      &code, 1, giver.info, giver.count, GivesResult, NULL, NULL);
  const pmix_status_t second =
      PMIx_Register_event_handler(&code, 1, NULL, 0, SeesResult, NULL, NULL);
  CHECK(first >= 0 && second >= 0, "not registered");
  Directives text = {.count = 0};
  AddText(&text, PMIX_EVENT_TEXT_MESSAGE, "why");
  pmix_info_t *proxy = NextInfo(&text, PMIX_EVENT_PROXY);
  proxy->value.type = PMIX_PROC;
  proxy->value.data.proc = &g_self;
  PMIX_INFO_REQUIRED(proxy);
  Notify(kCode, &text);
  AwaitEnds(1);
  ForgetTrace();
  Remove((size_t)first);
  Remove((size_t)second);
}

// ---------------------------------------------------------------- filters ---

static Directives About(const char *key, pmix_proc_t *proc) {
  Directives with = {.count = 0};
  pmix_info_t *info = NextInfo(&with, key);
  info->value.type = PMIX_PROC;
  info->value.data.proc = proc;
  return with;
}

static void Filters(void) {
  pmix_proc_t here = g_self;
  pmix_proc_t other = ProcOf(g_self.rank + 1);
  pmix_status_t code = kCode;
  const size_t mine = Single("mine", About(PMIX_EVENT_AFFECTED_PROC, &here));
  const size_t others =
      Single("others", About(PMIX_EVENT_AFFECTED_PROC, &other));
  const size_t end = Register(&code, 1, "end", Flag(PMIX_EVENT_HDLR_LAST));
  const Directives about = About(PMIX_EVENT_AFFECTED_PROC, &other);
  Notify(kCode, &about);
  AwaitEnds(1);
  ExpectTrace("others end");
  const Directives myself = About(PMIX_EVENT_AFFECTED_PROC, &here);
  Notify(kCode, &myself);
  AwaitEnds(1);
  ExpectTrace("mine end");
  // An array names several processes.
  pmix_proc_t both[] = {other, here};
  pmix_data_array_t array = {.type = PMIX_PROC, .size = 2, .array = both};
  Directives several = {.count = 0};
  pmix_info_t *info = NextInfo(&several, PMIX_EVENT_AFFECTED_PROCS);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = &array;
  const size_t either = Single("either", several);
  pmix_proc_t beyond[] = {ProcOf(g_self.rank + 2)};
  pmix_data_array_t one = {.type = PMIX_PROC, .size = 1, .array = beyond};
  Directives third = several;
  third.info[0].value.data.darray = &one;
  const size_t neither = Single("neither", third);
  Notify(kCode, &several);
  AwaitEnds(1);
  ExpectTrace("mine others either end");
  Remove(either);
  Remove(neither);
  Remove(mine);
  Remove(others);
  Remove(end);
}

static Directives From(pmix_proc_t *proc, pmix_data_array_t *array) {
  const pmix_data_array_t one = {.type = PMIX_PROC, .size = 1, .array = proc};
  *array = one;
  Directives with = {.count = 0};
  pmix_info_t *range = NextInfo(&with, PMIX_RANGE);
  range->value.type = PMIX_DATA_RANGE;
  range->value.data.range = PMIX_RANGE_CUSTOM;
  pmix_info_t *procs = NextInfo(&with, PMIX_EVENT_CUSTOM_RANGE);
  procs->value.type = PMIX_DATA_ARRAY;
  procs->value.data.darray = array;
  return with;
}

// A handler may select events by their source.
static void Sources(void) {
  pmix_proc_t here = g_self;
  pmix_proc_t other = ProcOf(g_self.rank + 1);
  pmix_data_array_t arrays[2];
  const size_t mine = Single("mine", From(&here, &arrays[0]));
  const size_t others = Single("others", From(&other, &arrays[1]));
  Directives servers = From(&here, &arrays[0]);
  servers.info[0].value.data.range = PMIX_RANGE_RM;
  servers.count = 1;
  const size_t manager = Single("manager", servers);
  const size_t end = Single("end", Flag(PMIX_EVENT_HDLR_LAST));
  Notify(kCode, NULL);
  AwaitEnds(1);
  ExpectTrace("mine end");
  Remove(mine);
  Remove(others);
  Remove(manager);
  Remove(end);
}

// Actions of the host in answer to an event are not supported.
static void Actions(void) {
  static const char *const kKeys[] = {
      PMIX_EVENT_TERMINATE_SESSION, PMIX_EVENT_TERMINATE_JOB,
      PMIX_EVENT_TERMINATE_NODE,    PMIX_EVENT_TERMINATE_PROC,
      PMIX_EVENT_ACTION_TIMEOUT,
  };
  for (size_t i = 0; i < sizeof(kKeys) / sizeof(*kKeys); ++i) {
    Directives with = Flag(kKeys[i]);
    PMIX_INFO_REQUIRED(&with.info[0]);
    EXPECT(PMIX_ERR_NOT_SUPPORTED,
           PMIx_Notify_event(kCode, NULL, PMIX_RANGE_PROC_LOCAL, with.info,
                             with.count, NULL, NULL));
  }
}

static void Once(void) {
  const size_t end = Single("end", Flag(PMIX_EVENT_HDLR_LAST));
  Single("once", Flag(PMIX_EVENT_ONESHOT));
  Notify(kCode, NULL);
  Notify(kCode, NULL);
  AwaitEnds(2);
  ExpectTrace("once end end");
  Remove(end);
}

// --------------------------------------------------------- registration ---

typedef struct {
  Signal done;
  size_t reference;
} Registered;

static void OnRegistered(pmix_status_t status, size_t reference, void *cbdata) {
  Registered *registered = cbdata;
  registered->reference = reference;
  Raise(&registered->done, status);
}

static void NonBlocking(void) {
  pmix_status_t code = kCode;
  Directives with = {.count = 0};
  pmix_info_t *object = NextInfo(&with, PMIX_EVENT_RETURN_OBJECT);
  object->value.type = PMIX_POINTER;
  object->value.data.ptr = "end";
  Registered registered = {SIGNAL_INIT, SIZE_MAX};
  const pmix_status_t status = PMIx_Register_event_handler(
      &code, 1, with.info, with.count, OnEvent, OnRegistered, &registered);
  OK(status);
  OK(WaitFor(&registered.done, 1));
  Signal notified = SIGNAL_INIT;
  OK(PMIx_Notify_event(kCode, NULL, PMIX_RANGE_PROC_LOCAL, NULL, 0, RaiseOp,
                       &notified));
  OK(WaitFor(&notified, 1));
  AwaitEnds(1);
  ForgetTrace();
  Signal removed = SIGNAL_INIT;
  const pmix_status_t gone =
      PMIx_Deregister_event_handler(registered.reference, RaiseOp, &removed);
  OK(gone);
  OK(WaitFor(&removed, 1));
  CHECK(PMIx_Deregister_event_handler(registered.reference, NULL, NULL) < 0,
        "removed twice");
  CHECK(PMIx_Deregister_event_handler(999999, NULL, NULL) < 0,
        "removed what never was");
  // A program may wait for the callback whatever the call returns.
  Signal unknown = SIGNAL_INIT;
  OK(PMIx_Deregister_event_handler(999999, RaiseOp, &unknown));
  EXPECT(PMIX_ERR_NOT_FOUND, WaitFor(&unknown, 1));
}

// An event that no handler has received is kept for the next handler.
static void Cached(void) {
  const Directives dropped = Flag(PMIX_EVENT_DO_NOT_CACHE);
  Notify(kUnasked, &dropped);
  Notify(kUnasked, NULL);
  Notify(kLate, NULL);
  pmix_status_t unasked = kUnasked;
  pmix_status_t late = kLate;
  const size_t first = Register(&unasked, 1, "unasked", kNone);
  const size_t end = Register(&late, 1, "end", kNone);
  AwaitEnds(1);
  ExpectTrace("unasked end");
  Remove(first);
  Remove(end);
}

static void Arguments(void) {
  pmix_status_t code = kCode;
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Register_event_handler(&code, 1, NULL, 0, NULL, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Register_event_handler(NULL, 1, NULL, 0, OnEvent, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Register_event_handler(&code, 1, NULL, 1, OnEvent, NULL, NULL));
  Directives unknown = Flag("canopy.test.unknown");
  const pmix_status_t reference = PMIx_Register_event_handler(
      &code, 1, unknown.info, 1, OnEvent, NULL, NULL);
  CHECK(reference >= 0, "an unknown directive that is not required: %s",
        PMIx_Error_string(reference));
  Remove((size_t)reference);
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  Refuse(PMIX_ERR_NOT_SUPPORTED, unknown);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Notify_event(kCode, NULL, PMIX_RANGE_PROC_LOCAL, NULL, 1, NULL,
                           NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Notify_event(kCode, NULL, 99, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Notify_event(kCode, NULL, PMIX_RANGE_CUSTOM,
                                               NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Notify_event(kCode, NULL, PMIX_RANGE_PROC_LOCAL, unknown.info, 1,
                           NULL, NULL));
}

// A handler may remove itself, and register another.
static size_t g_itself;
static void RemovesItself(size_t id, pmix_status_t status,
                          const pmix_proc_t *source, pmix_info_t info[],
                          size_t ninfo, pmix_info_t results[], size_t nresults,
                          pmix_event_notification_cbfunc_fn_t cbfunc,
                          void *cbdata) {
  (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  CHECK(id == g_itself, "called as %zu, registered as %zu", id, g_itself);
  Signal ignored = SIGNAL_INIT;
  static Signal removed;
  removed = ignored;
  OK(PMIx_Deregister_event_handler(id, RaiseOp, &removed));
  Trace("itself");
  Pass(cbfunc, cbdata);
}

static void Inside(void) {
  pmix_status_t code = kCode;
  const pmix_status_t reference =
      PMIx_Register_event_handler(&code, 1, NULL, 0, RemovesItself, NULL, NULL);
  CHECK(reference >= 0, "%s", PMIx_Error_string(reference));
  g_itself = (size_t)reference;
  const size_t end = Single("end", Flag(PMIX_EVENT_HDLR_LAST));
  Notify(kCode, NULL);
  Notify(kCode, NULL);
  AwaitEnds(2);
  ExpectTrace("itself end end");
  Remove(end);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Order();
  Selection();
  EndOfChain();
  Results();
  Filters();
  Sources();
  Once();
  Actions();
  NonBlocking();
  Cached();
  Arguments();
  Inside();
  Barrier();
  return Finish();
}
