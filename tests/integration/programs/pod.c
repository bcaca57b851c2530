/* A rank in a pod. Usage: pod SIZE [RANK CODE]
 *
 * Checks the size of the job and the data of all ranks, and prints its place.
 * The RANK then exits with CODE while the others wait for it. */
#include <unistd.h>

#include "pmix_check.h"

static unsigned number_of(const char *key, pmix_rank_t rank) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  proc.rank = rank;
  check(PMIx_Get(&proc, key, NULL, 0, &value), key);
  const unsigned got =
      value->type == PMIX_UINT16 ? value->data.uint16 : value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return got;
}

static void print_place(unsigned size) {
  pmix_value_t *host = NULL;
  check(PMIx_Get(&self, PMIX_HOSTNAME, NULL, 0, &host), "host");
  printf("rank %u of %u, local %u of %u, on %s, in %s\n", self.rank, size,
         number_of(PMIX_LOCAL_RANK, self.rank),
         number_of(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD), host->data.string,
         self.nspace);
  fflush(stdout);
  PMIX_VALUE_RELEASE(host);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  const unsigned size = number_of(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
  want(size, (unsigned)atoi(argv[1]), "the size");
  publish("number", 1000 + self.rank);
  fence(1);
  for (unsigned rank = 0; rank < size; ++rank) {
    want(get(rank, "number", 0), 1000 + rank, "the data of a rank");
  }
  print_place(size);
  fence(0);
  if (argc > 3 && self.rank == (unsigned)atoi(argv[2])) _exit(atoi(argv[3]));
  fence(0);
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
