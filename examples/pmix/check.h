/* Shared by the examples: start, end, and termination at the first error. */
#ifndef CANOPY_EXAMPLES_PMIX_CHECK_H_
#define CANOPY_EXAMPLES_PMIX_CHECK_H_

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_proc_t self;
static uint32_t job_size;

/* Ends the program and the job unless `condition` holds. */
#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "rank %u: %s:%d: %s\n", self.rank, __FILE__, __LINE__, \
              #condition);                                                   \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/* Ends the program and the job unless the call returns `wanted`. */
#define CHECK_STATUS(call, wanted)                                             \
  do {                                                                         \
    pmix_status_t status_ = (call);                                            \
    if (status_ != (wanted)) {                                                 \
      fprintf(stderr, "rank %u: %s:%d: %s: %s, not %s\n", self.rank, __FILE__, \
              __LINE__, #call, PMIx_Error_string(status_), #wanted);           \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#define CHECK_OK(call) CHECK_STATUS(call, PMIX_SUCCESS)

static inline pmix_proc_t peer(pmix_rank_t rank) {
  pmix_proc_t proc = self;
  proc.rank = rank;
  return proc;
}

/* Returns a number that the host provides about `rank`. */
static inline uint32_t get_number(pmix_rank_t rank, const char *key) {
  pmix_proc_t proc = peer(rank);
  pmix_value_t *value = NULL;
  uint32_t number = 0;
  CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
  switch (value->type) {
    case PMIX_UINT32:
      number = value->data.uint32;
      break;
    case PMIX_UINT16:
      number = value->data.uint16;
      break;
    case PMIX_PROC_RANK:
      number = value->data.rank;
      break;
    default:
      CHECK(!"a number");
  }
  PMIX_VALUE_RELEASE(value);
  return number;
}

/* Puts an unsigned number. */
static inline void put_number(pmix_scope_t scope, const char *key,
                              uint64_t number) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT64;
  value.data.uint64 = number;
  CHECK_OK(PMIx_Put(scope, key, &value));
}

/* Reads the number that `rank` has put. Returns the status of the get. */
static inline pmix_status_t get_put(pmix_rank_t rank, const char *key,
                                    const pmix_info_t info[], size_t ninfo,
                                    uint64_t *number) {
  pmix_proc_t proc = peer(rank);
  pmix_value_t *value = NULL;
  pmix_status_t status = PMIx_Get(&proc, key, info, ninfo, &value);
  if (status != PMIX_SUCCESS) return status;
  CHECK(value->type == PMIX_UINT64);
  *number = value->data.uint64;
  PMIX_VALUE_RELEASE(value);
  return PMIX_SUCCESS;
}

/* Runs a barrier of the job; `collect` exchanges the committed data. */
static inline void fence(bool collect) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  CHECK_OK(PMIx_Fence(NULL, 0, &info, 1));
  PMIX_INFO_DESTRUCT(&info);
}

/* Connects to the server. Ends the program if argv[1], the expected number of
 * ranks, is given and wrong. */
static inline void begin(int argc, char **argv) {
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  job_size = get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (argc > 1) CHECK(job_size == (uint32_t)atoi(argv[1]));
}

static inline int end(const char *name) {
  fence(false);
  if (self.rank == 0) printf("%s ok size %u\n", name, job_size);
  fflush(stdout);
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}

#endif /* CANOPY_EXAMPLES_PMIX_CHECK_H_ */
