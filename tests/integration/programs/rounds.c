/* In each round, every rank puts two keys. It receives one of them from all
 * other ranks by a fence that collects data, gets the other one from one rank,
 * and prints a line. The last round is the round in which rank 0 finds the
 * file. Usage: rounds EXPECTED_SIZE FILE */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmix_check.h"

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
    publish(fenced, 2 * (1000 * round + self.rank) + (end ? 1 : 0));
    fence(1);
    for (unsigned r = 0; r < size; ++r) {
      const unsigned value = get(r, fenced, 1);
      if (r == 0) last = value % 2;
      want(value / 2, 1000 * round + r, fenced);
    }
    publish(asked, 1000 * round + self.rank);
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
