// Shared by the conformance programs. Each program is a job of its own, PROGRAM
// SIZE NODES [WORD], which run.py starts with exactly that many processes on
// that many nodes. A violated rule ends the process with status 1 and one line
// on stderr; a process without violations prints "PROGRAM ok RANK". The
// programs use only the public headers, so that any PMIx library of release 4.2
// or later can be tested.
#ifndef CANOPY_TESTS_CONFORMANCE_CHECK_H_
#define CANOPY_TESTS_CONFORMANCE_CHECK_H_

#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A program that waits longer than this is considered hung.
enum { kHangSeconds = 100 };

static const char *g_program = "?";
static pmix_proc_t g_self;  // after Start
static pmix_proc_t g_job;   // own namespace, rank wildcard
static uint32_t g_size;     // processes, as passed by run.py
static uint32_t g_nodes;    // nodes, as passed by run.py
static const char *volatile g_where = "start";
static volatile int g_line;

__attribute__((noreturn, format(printf, 4, 5), unused)) static void Fail(
    const char *file, int line, const char *rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  fprintf(stderr, "%s: rank %u: %s:%d: %s: %s\n", g_program, g_self.rank, file,
          line, rule, text);
  fflush(stderr);
  _exit(1);
}

// The rule `cond` must hold. The further arguments format a description of the
// violation.
#define CHECK(cond, ...)                            \
  do {                                              \
    g_where = __FILE__;                             \
    g_line = __LINE__;                              \
    if (!(cond)) {                                  \
      Fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
    }                                               \
  } while (0)

// `call` must return the status `want`.
#define EXPECT(want, call)                                          \
  do {                                                              \
    g_where = __FILE__;                                             \
    g_line = __LINE__;                                              \
    const pmix_status_t got_ = (call);                              \
    if (got_ != (want)) {                                           \
      Fail(__FILE__, __LINE__, #call, "gave %s (%d), not %s",       \
           PMIx_Error_string(got_), got_, PMIx_Error_string(want)); \
    }                                                               \
  } while (0)

#define OK(call) EXPECT(PMIX_SUCCESS, call)

static void OnHang(int signal) {
  (void)signal;
  char text[256];
  const int length =
      snprintf(text, sizeof(text), "%s: rank %u: hangs after %s:%d\n",
               g_program, g_self.rank, g_where, g_line);
  if (write(2, text, (size_t)length) < 0) _exit(4);
  _exit(3);
}

// Reads the arguments and arms the watchdog. Used by programs that call
// PMIx_Init themselves.
static inline void Arm(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/');
  g_program = slash == NULL ? argv[0] : slash + 1;
  if (argc < 3) {
    fprintf(stderr, "usage: %s SIZE NODES [WORD]\n", argv[0]);
    exit(2);
  }
  g_size = (uint32_t)atoi(argv[1]);
  g_nodes = (uint32_t)atoi(argv[2]);
  g_self.rank = PMIX_RANK_UNDEF;
  signal(SIGALRM, OnHang);
  alarm(kHangSeconds);
}

static inline pmix_proc_t ProcOf(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_self.nspace, rank);
  return proc;
}

// ---------------------------------------------------------- directives ---

// A short list of directives, which is never freed, because its values are
// scalars and texts of the caller.
typedef struct {
  pmix_info_t info[8];
  size_t count;
} Directives;

static inline pmix_info_t *NextInfo(Directives *list, const char *key) {
  pmix_info_t *info = &list->info[list->count++];
  memset(info, 0, sizeof(*info));
  strncpy(info->key, key, PMIX_MAX_KEYLEN);
  return info;
}

static inline void AddFlag(Directives *list, const char *key, bool flag) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_BOOL;
  info->value.data.flag = flag;
}

static inline void AddU32(Directives *list, const char *key, uint32_t number) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_UINT32;
  info->value.data.uint32 = number;
}

static inline void AddInt(Directives *list, const char *key, int number) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_INT;
  info->value.data.integer = number;
}

static inline void AddText(Directives *list, const char *key,
                           const char *text) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_STRING;
  info->value.data.string = (char *)text;
}

static inline void AddScope(Directives *list, pmix_scope_t scope) {
  pmix_info_t *info = NextInfo(list, PMIX_DATA_SCOPE);
  info->value.type = PMIX_SCOPE;
  info->value.data.scope = scope;
}

static inline Directives Flag(const char *key) {
  Directives list = {.count = 0};
  AddFlag(&list, key, true);
  return list;
}

static inline Directives Timeout(int seconds) {
  Directives list = {.count = 0};
  AddInt(&list, PMIX_TIMEOUT, seconds);
  return list;
}

// -------------------------------------------------------------- values ---

static inline pmix_status_t GetWith(const pmix_proc_t *proc, const char *key,
                                    const Directives *with,
                                    pmix_value_t **value) {
  *value = NULL;
  return PMIx_Get(proc, key, with == NULL ? NULL : with->info,
                  with == NULL ? 0 : with->count, value);
}

static inline uint32_t NumberOf(const char *key, const pmix_value_t *value) {
  switch (value->type) {
    case PMIX_UINT16:
      return value->data.uint16;
    case PMIX_UINT32:
      return value->data.uint32;
    case PMIX_PROC_RANK:
      return value->data.rank;
    default:
      CHECK(false, "%s has type %s", key, PMIx_Data_type_string(value->type));
      return 0;
  }
}

// Returns the value of `key`, which must exist and have the type `type`.
static inline pmix_value_t *MustGet(const pmix_proc_t *proc, const char *key,
                                    const Directives *with,
                                    pmix_data_type_t type) {
  pmix_value_t *value = NULL;
  const pmix_status_t status = GetWith(proc, key, with, &value);
  if (key == NULL) key = "everything";
  CHECK(status == PMIX_SUCCESS, "Get of %s of rank %u: %s", key,
        proc == NULL ? g_self.rank : proc->rank, PMIx_Error_string(status));
  CHECK(value != NULL, "Get of %s gave no value", key);
  CHECK(value->type == type, "%s has type %s, not %s", key,
        PMIx_Data_type_string(value->type), PMIx_Data_type_string(type));
  return value;
}

static inline uint32_t MustGetNumber(const pmix_proc_t *proc, const char *key,
                                     const Directives *with,
                                     pmix_data_type_t type) {
  pmix_value_t *value = MustGet(proc, key, with, type);
  const uint32_t number = NumberOf(key, value);
  PMIX_VALUE_RELEASE(value);
  return number;
}

// Returns a copy of the text, which must not be empty. The caller frees the
// copy.
static inline char *MustGetText(const pmix_proc_t *proc, const char *key,
                                const Directives *with) {
  pmix_value_t *value = MustGet(proc, key, with, PMIX_STRING);
  CHECK(value->data.string != NULL && value->data.string[0] != '\0',
        "%s is an empty text", key);
  char *text = strdup(value->data.string);
  PMIX_VALUE_RELEASE(value);
  return text;
}

// The get must fail with the status `want` and return no value.
static inline void MustFail(pmix_status_t want, const pmix_proc_t *proc,
                            const char *key, const Directives *with) {
  pmix_value_t *value = NULL;
  const pmix_status_t status = GetWith(proc, key, with, &value);
  CHECK(status == want, "Get of %s of rank %u gave %s, not %s",
        key == NULL ? "(null)" : key, proc == NULL ? g_self.rank : proc->rank,
        PMIx_Error_string(status), PMIx_Error_string(want));
}

static inline void PutU32(pmix_scope_t scope, const char *key,
                          uint32_t number) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT32;
  value.data.uint32 = number;
  OK(PMIx_Put(scope, key, &value));
}

static inline void PutText(pmix_scope_t scope, const char *key,
                           const char *text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = (char *)text;
  OK(PMIx_Put(scope, key, &value));
}

// ----------------------------------------------------------------- job ---

static inline void Barrier(void) { OK(PMIx_Fence(NULL, 0, NULL, 0)); }

static inline void FenceCollect(void) {
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  OK(PMIx_Fence(NULL, 0, collect.info, collect.count));
}

static inline uint32_t NodeOf(pmix_rank_t rank) {
  const pmix_proc_t proc = ProcOf(rank);
  return MustGetNumber(&proc, PMIX_NODEID, NULL, PMIX_UINT32);
}

static inline bool IsLocal(pmix_rank_t rank) {
  return NodeOf(rank) == NodeOf(g_self.rank);
}

// Calls Arm and PMIx_Init, and checks that this is the job that was started.
static inline void Start(int argc, char **argv) {
  Arm(argc, argv);
  OK(PMIx_Init(&g_self, NULL, 0));
  g_job = ProcOf(PMIX_RANK_WILDCARD);
  const uint32_t size = MustGetNumber(&g_job, PMIX_JOB_SIZE, NULL, PMIX_UINT32);
  CHECK(size == g_size, "the job has %u processes, not %u", size, g_size);
  CHECK(g_self.rank < g_size, "rank %u of %u", g_self.rank, g_size);
}

static inline int Kept(void) {
  printf("%s ok %u\n", g_program, g_self.rank);
  fflush(stdout);
  return 0;
}

static inline int Finish(void) {
  OK(PMIx_Finalize(NULL, 0));
  return Kept();
}

// --------------------------------------------------------------- waiting ---

// Callbacks of the library raise a signal, and the main thread waits for it.
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count;
  pmix_status_t status;
} Signal;

#define SIGNAL_INIT \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, PMIX_SUCCESS }

static inline void Raise(Signal *signal, pmix_status_t status) {
  pthread_mutex_lock(&signal->lock);
  ++signal->count;
  signal->status = status;
  pthread_cond_broadcast(&signal->changed);
  pthread_mutex_unlock(&signal->lock);
}

// Waits until the signal was raised `count` times in total. Returns the last
// status.
static inline pmix_status_t WaitFor(Signal *signal, int count) {
  pthread_mutex_lock(&signal->lock);
  while (signal->count < count) {
    pthread_cond_wait(&signal->changed, &signal->lock);
  }
  const pmix_status_t status = signal->status;
  pthread_mutex_unlock(&signal->lock);
  return status;
}

static inline int CountOf(Signal *signal) {
  pthread_mutex_lock(&signal->lock);
  const int count = signal->count;
  pthread_mutex_unlock(&signal->lock);
  return count;
}

// A pmix_op_cbfunc_t whose cbdata is a Signal.
static inline void RaiseOp(pmix_status_t status, void *cbdata) {
  Raise(cbdata, status);
}

#endif  // CANOPY_TESTS_CONFORMANCE_CHECK_H_
