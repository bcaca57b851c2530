/* Shared by the programs. Each program ends at its first error with a message,
 * and none of them hangs. */
#ifndef CANOPY_TESTS_OPENPMIX_PROGRAMS_CHECK_H_
#define CANOPY_TESTS_OPENPMIX_PROGRAMS_CHECK_H_

#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t job_size;

static void fail(const char *what, long got, long wanted) {
  fprintf(stderr, "rank %u: %s is %ld (%s), not %ld\n", me.rank, what, got,
          PMIx_Error_string((pmix_status_t)got), wanted);
  exit(1);
}

#define EXPECT(wanted, call)                                 \
  do {                                                       \
    long got_ = (long)(call);                                \
    if (got_ != (long)(wanted)) fail(#call, got_, (wanted)); \
  } while (0)
#define OK(call) EXPECT(PMIX_SUCCESS, call)
#define REFUSED(call) EXPECT(PMIX_ERR_NOT_SUPPORTED, call)
#define TRUE_(what) EXPECT(1, (what) ? 1 : 0)

static inline pmix_proc_t rank_of_job(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, me.nspace, rank);
  return proc;
}

static inline pmix_value_t *get(pmix_rank_t rank, const char *key) {
  pmix_proc_t proc = rank_of_job(rank);
  pmix_value_t *value = NULL;
  pmix_status_t rc = PMIx_Get(&proc, key, NULL, 0, &value);
  if (rc != PMIX_SUCCESS) {
    char what[600];
    snprintf(what, sizeof what, "get of %s of rank %u", key, rank);
    fail(what, rc, PMIX_SUCCESS);
  }
  return value;
}

static inline uint32_t get_u32(pmix_rank_t rank, const char *key) {
  pmix_value_t *value = get(rank, key);
  uint32_t number = 0;
  EXPECT(PMIX_UINT32, value->type);
  number = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static inline void put_u64(const char *key, uint64_t number) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT64);
  OK(PMIx_Put(PMIX_GLOBAL, key, &value));
}

static inline void expect_u64(pmix_rank_t rank, const char *key,
                              uint64_t wanted) {
  pmix_value_t *value = get(rank, key);
  EXPECT(PMIX_UINT64, value->type);
  EXPECT(wanted, value->data.uint64);
  PMIX_VALUE_RELEASE(value);
}

static inline void fence(int collect) {
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  OK(PMIx_Fence(NULL, 0, collect ? &info : NULL, collect ? 1 : 0));
  PMIX_INFO_DESTRUCT(&info);
}

/* Joins the job and checks its size. */
static inline void begin(int argc, char **argv) {
  alarm(60);
  OK(PMIx_Init(&me, NULL, 0));
  job_size = get_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (argc > 1) EXPECT(atoi(argv[1]), job_size);
}

static inline int end(const char *name) {
  OK(PMIx_Finalize(NULL, 0));
  printf("rank %u loaded %s\n", me.rank,
         strstr(PMIx_Get_version(), "Canopy") != NULL ? "ours" : "openpmix");
  if (me.rank == 0) printf("%s ok size %u\n", name, job_size);
  return 0;
}

/* Waits for calls that complete in a callback. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int done;
  pmix_status_t status;
} waiter_t;

#define WAITER_INIT \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 }

static inline void wake(waiter_t *w, pmix_status_t status) {
  pthread_mutex_lock(&w->mutex);
  w->status = status;
  ++w->done;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->mutex);
}

static inline pmix_status_t wait_for(waiter_t *w, int times) {
  pthread_mutex_lock(&w->mutex);
  while (w->done < times) pthread_cond_wait(&w->changed, &w->mutex);
  pthread_mutex_unlock(&w->mutex);
  return w->status;
}

static inline void on_op(pmix_status_t status, void *data) {
  wake((waiter_t *)data, status);
}

static inline void on_info(pmix_status_t status, pmix_info_t *info,
                           size_t ninfo, void *data,
                           pmix_release_cbfunc_t release, void *release_data) {
  (void)info;
  (void)ninfo;
  if (release != NULL) release(release_data);
  wake((waiter_t *)data, status);
}

static inline void on_handler(pmix_status_t status, size_t reference,
                              void *data) {
  (void)reference;
  wake((waiter_t *)data, status);
}

#endif
