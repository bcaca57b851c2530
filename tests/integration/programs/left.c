/* Rank 1 commits and does nothing else that its agent could notice, except
 * making a file named committed; rank 0 requests the data. Files named go1,
 * go2, ... in a directory control the steps. Usage: left DIRECTORY */
#include <unistd.h>

#include "pmix_check.h"

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

/* The data must be found within 30 seconds, whichever process has to be
 * awaited. */
static void find(unsigned rank, const char *key, unsigned wanted) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  pmix_info_t info;
  int seconds = 30;
  proc.rank = rank;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
  check(PMIx_Get(&proc, key, &info, 1, &value), key);
  if (value->type != PMIX_UINT32) check(PMIX_ERR_TYPE_MISMATCH, key);
  want(value->data.uint32, wanted, key);
  PMIX_VALUE_RELEASE(value);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  fence(0);
  say("is ready");
  if (self.rank == 1) {
    await(argv[1], "go1");
    publish("away", 1);
    leave(argv[1], "committed");
    await(argv[1], "go3");
    publish("back", 2);
  } else {
    await(argv[1], "go2");
    find(1, "away", 1);
    say("has found it");
    find(1, "back", 2);
    say("has found more");
  }
  await(argv[1], "go4");
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
