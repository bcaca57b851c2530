/* Rank 1 commits and does nothing else that its agent could notice, but for a
 * file named committed; rank 0 asks for it. Files named go1, go2, ... in a
 * directory say when.
 * Usage: left DIRECTORY */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pmix_proc_t self;

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

static void leave(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  if (file == NULL || fclose(file) != 0) exit(9);
}

static void put(const char *key, unsigned value) {
  pmix_value_t v;
  PMIX_VALUE_CONSTRUCT(&v);
  v.type = PMIX_UINT32;
  v.data.uint32 = value;
  check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
  check(PMIx_Commit(), "commit");
}

static void get(unsigned rank, const char *key, unsigned wanted) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  pmix_info_t info;
  int seconds = 30;
  proc.rank = rank;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
  check(PMIx_Get(&proc, key, &info, 1, &value), key);
  if (value->type != PMIX_UINT32 || value->data.uint32 != wanted) {
    fprintf(stderr, "rank %u: wrong %s of rank %u\n", self.rank, key, rank);
    exit(9);
  }
  PMIX_VALUE_RELEASE(value);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  check(PMIx_Fence(NULL, 0, NULL, 0), "fence");
  say("is ready");
  if (self.rank == 1) {
    await(argv[1], "go1");
    put("away", 1);
    leave(argv[1], "committed");
    await(argv[1], "go3");
    put("back", 2);
  } else {
    await(argv[1], "go2");
    get(1, "away", 1);
    say("has found it");
    get(1, "back", 2);
    say("has found more");
  }
  await(argv[1], "go4");
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
