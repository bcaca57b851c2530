/* Goes through its steps as files named go1, go2, ... appear in a directory, so
 * that agents can be killed and replaced at known points of it.
 * Usage: restart DIRECTORY EXIT_CODE_OF_RANK_1 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 2000

static pmix_proc_t self;
static unsigned size;

static void check(int rc, const char *what) {
  if (rc == PMIX_SUCCESS) return;
  fprintf(stderr, "rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(rc));
  exit(9);
}

static void say(const char *what) {
  printf("rank %u %s\n", self.rank, what);
  fflush(stdout);
}

static void await(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  while (access(path, F_OK) != 0) usleep(5000);
}

static void fence(int collect) {
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(NULL, 0, &info, collect ? 1 : 0), "fence");
}

static void put(const char *key, unsigned value) {
  pmix_value_t v;
  PMIX_VALUE_CONSTRUCT(&v);
  v.type = PMIX_UINT32;
  v.data.uint32 = value;
  check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
  check(PMIx_Commit(), "commit");
}

static void get(unsigned rank, const char *key, unsigned wanted, int optional) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  pmix_info_t info;
  bool yes = true;
  proc.rank = rank;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  check(PMIx_Get(&proc, key, &info, optional ? 1 : 0, &value), key);
  if (value->type != PMIX_UINT32 || value->data.uint32 != wanted) {
    fprintf(stderr, "rank %u: wrong %s of rank %u\n", self.rank, key, rank);
    exit(9);
  }
  PMIX_VALUE_RELEASE(value);
}

static void exchange(const char *key, unsigned base) {
  put(key, base + self.rank);
  fence(1);
  for (unsigned r = 0; r < size; ++r) get(r, key, base + r, 1);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  pmix_proc_t job = self;
  pmix_value_t *value = NULL;
  job.rank = PMIX_RANK_WILDCARD;
  check(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "size");
  size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);

  exchange("first", 1000);
  for (int i = 0; i < 10; ++i) fence(0);
  say("is ready");
  await(argv[1], "go1");

  /* What was there before is there, and new operations work. */
  for (unsigned r = 0; r < size; ++r) get(r, "first", 1000 + r, 1);
  exchange("second", 2000);
  for (int i = 0; i < 10; ++i) fence(0);
  put("third", 3000 + self.rank);
  get((self.rank + 1) % size, "third", 3000 + (self.rank + 1) % size, 0);
  say("is new");

  /* All but rank 0 wait in a fence. */
  put("fourth", 4000 + self.rank);
  if (self.rank == 0) await(argv[1], "go2");
  fence(1);
  for (unsigned r = 0; r < size; ++r) get(r, "fourth", 4000 + r, 1);
  say("is through");

  await(argv[1], "go3");
  for (int i = 0; i < LINES; ++i) printf("rank %u line %d\n", self.rank, i);
  fflush(stdout);
  await(argv[1], "go4");
  check(PMIx_Finalize(NULL, 0), "finalize");
  return self.rank == 1 ? atoi(argv[2]) : 0;
}
