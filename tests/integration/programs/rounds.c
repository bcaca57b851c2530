/* Round after round, every rank puts two keys, learns one of them of all others
 * by a fence that collects and the other of one of them by asking for it, and
 * prints a line. Ends after the round in which rank 0 finds the file.
 * Usage: rounds EXPECTED_SIZE FILE */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;

static void check(int rc, const char *what) {
  if (rc == PMIX_SUCCESS) return;
  fprintf(stderr, "rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(rc));
  exit(9);
}

static void put(const char *key, unsigned value) {
  pmix_value_t v;
  PMIX_VALUE_CONSTRUCT(&v);
  v.type = PMIX_UINT32;
  v.data.uint32 = value;
  check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
}

static unsigned get(unsigned rank, const char *key, int optional) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  pmix_info_t info;
  bool yes = true;
  proc.rank = rank;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  check(PMIx_Get(&proc, key, &info, optional ? 1 : 0, &value), key);
  const unsigned got = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
  PMIX_VALUE_RELEASE(value);
  return got;
}

static void fence(int collect) {
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(NULL, 0, &info, collect ? 1 : 0), "fence");
}

static void want(unsigned got, unsigned wanted, const char *key) {
  if (got == wanted) return;
  fprintf(stderr, "rank %u: %s is %u, not %u\n", self.rank, key, got, wanted);
  exit(9);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const unsigned size = (unsigned) atoi(argv[1]);
  check(PMIx_Init(&self, NULL, 0), "init");
  unsigned round = 0;
  for (unsigned last = 0; !last; ++round) {
    char fenced[32], asked[32];
    snprintf(fenced, sizeof fenced, "fenced%u", round);
    snprintf(asked, sizeof asked, "asked%u", round);
    const int end = self.rank == 0 && access(argv[2], F_OK) == 0;
    put(fenced, 2 * (1000 * round + self.rank) + (end ? 1 : 0));
    check(PMIx_Commit(), "commit");
    fence(1);
    for (unsigned r = 0; r < size; ++r) {
      const unsigned value = get(r, fenced, 1);
      if (r == 0) last = value % 2;
      want(value / 2, 1000 * round + r, fenced);
    }
    put(asked, 1000 * round + self.rank);
    check(PMIx_Commit(), "commit");
    const unsigned other = (self.rank + 1 + round) % size;
    want(get(other, asked, 0), 1000 * round + other, asked);
    fence(0);
    printf("rank %u round %u\n", self.rank, round);
    fflush(stdout);
    usleep(2000);
  }
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
