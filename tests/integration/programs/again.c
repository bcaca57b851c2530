/* Tests processes that fail and are restarted. Usage: again DEATHS [FILE]
 *
 * The first DEATHS processes of rank 1 kill themselves, while the other ranks
 * may wait for rank 1 in a fence. The next process takes part in that fence
 * once the file exists. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

static unsigned own(const char *key) {
  pmix_value_t *value = NULL;
  check(PMIx_Get(&self, key, NULL, 0, &value), key);
  const unsigned got = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return got;
}

int main(int argc, char **argv) {
  const unsigned deaths = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  check(PMIx_Init(&self, NULL, 0), "init");
  const unsigned incarnation = own(PMIX_REINCARNATION);
  publish("incarnation", incarnation);
  printf("rank %u, process %u\n", self.rank, incarnation);
  fflush(stdout);
  if (self.rank == 1 && incarnation < deaths) {
    raise(SIGKILL);
    pause();
  }
  while (self.rank == 1 && argc > 2 && access(argv[2], F_OK) != 0) {
    usleep(10000);
  }
  fence(1);
  want(get(1, "incarnation", 0), deaths, "what rank 1 committed");
  want(get(1, PMIX_REINCARNATION, 0), deaths, "its incarnation");
  want(get(0, PMIX_REINCARNATION, 0), 0, "rank 0's incarnation");
  fence(0);
  check(PMIx_Finalize(NULL, 0), "finalize");
  printf("rank %u is done\n", self.rank);
  return 0;
}
