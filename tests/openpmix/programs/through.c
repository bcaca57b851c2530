/* Puts, fences and gets, round after round, until a file appears. Agents may be
 * killed and replaced at any point. Every value is checked. Usage: through SIZE
 * FILE */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;

static void check(int rc, const char *what, unsigned round) {
  if (rc == PMIX_SUCCESS) return;
  fprintf(stderr, "rank %u round %u: %s: %s\n", self.rank, round, what,
          PMIx_Error_string(rc));
  exit(9);
}

static void put(const char *kind, unsigned round, unsigned number) {
  char key[64];
  pmix_value_t value;
  snprintf(key, sizeof key, "%s-%u", kind, round);
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT32;
  value.data.uint32 = number;
  check(PMIx_Put(PMIX_GLOBAL, key, &value), "put", round);
  check(PMIx_Commit(), "commit", round);
}

static unsigned get(unsigned rank, const char *kind, unsigned round) {
  char key[64];
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  unsigned number;
  proc.rank = rank;
  snprintf(key, sizeof key, "%s-%u", kind, round);
  check(PMIx_Get(&proc, key, NULL, 0, &value), "get", round);
  if (value->type != PMIX_UINT32) check(PMIX_ERR_TYPE_MISMATCH, key, round);
  number = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static void fence(int collect, unsigned round) {
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(NULL, 0, &info, collect ? 1 : 0), "fence", round);
}

static void expect(unsigned number, unsigned wanted, unsigned round) {
  if (number == wanted) return;
  fprintf(stderr, "rank %u round %u: %u, not %u\n", self.rank, round, number,
          wanted);
  exit(9);
}

int main(int argc, char **argv) {
  unsigned size, round, over;
  if (argc != 3) return 2;
  size = (unsigned)atoi(argv[1]);
  check(PMIx_Init(&self, NULL, 0), "init", 0);
  for (round = 1, over = 0; !over; ++round) {
    unsigned next = (self.rank + 1) % size;
    if (self.rank == 0) put("over", round, access(argv[2], F_OK) == 0);
    put("early", round, round * 1000 + self.rank);
    fence(round % 2 == 0, round);
    expect(get(next, "early", round), round * 1000 + next, round);
    over = get(0, "over", round);
    /* "late" is put after the fence, so the agents request it from each other.
     */
    put("late", round, round * 2000 + self.rank);
    expect(get(next, "late", round), round * 2000 + next, round);
    fence(0, round);
    if (round == 1) {
      printf("rank %u is ready\n", self.rank);
      fflush(stdout);
    }
  }
  check(PMIx_Finalize(NULL, 0), "finalize", round);
  printf("rank %u is through, rounds: %u\n", self.rank, round - 1);
  return 0;
}
