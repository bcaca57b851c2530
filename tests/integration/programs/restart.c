/* Executes its steps as files named go1, go2, ... appear in a directory, so
 * that agents can be killed and replaced at known points. Usage: restart
 * DIRECTORY EXIT_CODE_OF_RANK_1 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmix_check.h"

#define LINES 2000

static unsigned size;

static void say(const char *what) {
  printf("rank %u %s\n", self.rank, what);
  fflush(stdout);
}

static void await(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  while (access(path, F_OK) != 0) usleep(5000);
}

static void want_of_all(const char *key, unsigned base) {
  for (unsigned r = 0; r < size; ++r) want(get(r, key, 1), base + r, key);
}

static void exchange(const char *key, unsigned base) {
  publish(key, base + self.rank);
  fence(1);
  want_of_all(key, base);
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

  /* Earlier data is still present, and new operations work. */
  want_of_all("first", 1000);
  exchange("second", 2000);
  for (int i = 0; i < 10; ++i) fence(0);
  publish("third", 3000 + self.rank);
  const unsigned other = (self.rank + 1) % size;
  want(get(other, "third", 0), 3000 + other, "third");
  say("is new");

  /* All ranks but 0 wait in a fence. */
  publish("fourth", 4000 + self.rank);
  if (self.rank == 0) await(argv[1], "go2");
  fence(1);
  want_of_all("fourth", 4000);
  say("is through");

  await(argv[1], "go3");
  for (int i = 0; i < LINES; ++i) printf("rank %u line %d\n", self.rank, i);
  fflush(stdout);
  await(argv[1], "go4");
  check(PMIx_Finalize(NULL, 0), "finalize");
  return self.rank == 1 ? atoi(argv[2]) : 0;
}
