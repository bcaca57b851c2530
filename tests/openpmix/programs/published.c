/* Publishes, waits for data that others publish, and unpublishes, round after
 * round, until a file appears. Agents may be killed and replaced at any point.
 * Data that ends when it is read is received by exactly one rank. Usage:
 * published SIZE FILE */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_KEY 64

static pmix_proc_t self;

static void check(int rc, int wanted, const char *what, unsigned round) {
  if (rc == wanted) return;
  fprintf(stderr, "rank %u round %u: %s: %s\n", self.rank, round, what,
          PMIx_Error_string(rc));
  exit(9);
}

static char *name(const char *kind, unsigned rank, unsigned round, char *key) {
  snprintf(key, MAX_KEY, "%s of %u in %u", kind, rank, round);
  return key;
}

static void publish(const char *kind, unsigned round, uint32_t number,
                    pmix_persistence_t persistence) {
  char key[MAX_KEY];
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], name(kind, self.rank, round, key), &number,
                 PMIX_UINT32);
  PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  check(PMIx_Publish(info, 2), PMIX_SUCCESS, key, round);
}

static int lookup(const char *kind, unsigned rank, unsigned round, int waits,
                  unsigned *number) {
  char key[MAX_KEY];
  pmix_pdata_t data;
  pmix_info_t info;
  int all = 0;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, name(kind, rank, round, key));
  PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
  const int rc = PMIx_Lookup(&data, 1, &info, waits ? 1 : 0);
  *number = rc == PMIX_SUCCESS ? data.value.data.uint32 : 0;
  PMIX_PDATA_DESTRUCT(&data);
  return rc;
}

static unsigned await(const char *kind, unsigned rank, unsigned round) {
  unsigned number = 0;
  check(lookup(kind, rank, round, 1, &number), PMIX_SUCCESS, kind, round);
  return number;
}

static void fence(unsigned round) {
  check(PMIx_Fence(NULL, 0, NULL, 0), PMIX_SUCCESS, "fence", round);
}

/* Counts the ranks that have read the data of rank 0. */
static void read_once(unsigned size, unsigned round) {
  unsigned number = 0;
  unsigned readers = 0;
  if (self.rank == 0) publish("once", round, 1, PMIX_PERSIST_FIRST_READ);
  fence(round);
  const int rc = lookup("once", 0, round, 0, &number);
  if (rc != PMIX_ERR_NOT_FOUND) check(rc, PMIX_SUCCESS, "once", round);
  publish("has read", round, number, PMIX_PERSIST_APP);
  for (unsigned rank = 0; rank < size; ++rank) {
    readers += await("has read", rank, round);
  }
  if (readers != 1) check(PMIX_ERROR, PMIX_SUCCESS, "readers", round);
}

int main(int argc, char **argv) {
  unsigned round;
  unsigned over = 0;
  if (argc != 3) return 2;
  const unsigned size = (unsigned)atoi(argv[1]);
  check(PMIx_Init(&self, NULL, 0), PMIX_SUCCESS, "init", 0);
  for (round = 1; !over; ++round) {
    const unsigned next = (self.rank + 1) % size;
    unsigned gone = 0;
    if (self.rank == 0) {
      publish("over", round, access(argv[2], F_OK) == 0, PMIX_PERSIST_PROC);
    }
    publish("name", round, 1000 * round + self.rank, PMIX_PERSIST_SESSION);
    if (await("name", next, round) != 1000 * round + next) {
      check(PMIX_ERROR, PMIX_SUCCESS, "name", round);
    }
    read_once(size, round);
    over = await("over", 0, round);
    fence(round);
    check(PMIx_Unpublish(NULL, NULL, 0), PMIX_SUCCESS, "unpublish", round);
    fence(round);
    check(lookup("name", next, round, 0, &gone), PMIX_ERR_NOT_FOUND, "gone",
          round);
    if (round == 1) {
      printf("rank %u is ready\n", self.rank);
      fflush(stdout);
    }
  }
  check(PMIx_Finalize(NULL, 0), PMIX_SUCCESS, "finalize", round);
  printf("rank %u is through, rounds: %u\n", self.rank, round - 1);
  return 0;
}
