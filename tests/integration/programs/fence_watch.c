/* Runs fences, one after the other, until rank 0 reads the end of its input.
 * Every second fence collects data of each rank, which all ranks check. Prints
 * "up" after the first fence, and at the end the number of fences, the number
 * of slow fences, and the time of the slowest fence at this rank; a line on
 * standard error has the end of each slow fence. Any delay of an agent is
 * visible in that time. The pause between two fences leaves the
 * CPUs to the agents.
 *
 * argv[1]: size of the job. argv[2]: milliseconds above which a fence is slow.
 */
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "pmix_check.h"

enum { PAUSE_US = 500 };

static double slow_ms;
static double slowest_ms;
static unsigned fences;
static unsigned slow;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int input_ended(void) {
  char byte;
  struct pollfd in = {STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void timed_fence(int collect) {
  const double start = now_ms();
  fence(collect);
  const double took = now_ms() - start;
  if (took > slowest_ms) slowest_ms = took;
  if (took > slow_ms) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    fprintf(stderr, "slow fence: %.1f ms, until %ld.%03ld\n", took,
            (long)end.tv_sec, end.tv_nsec / 1000000);
    ++slow;
  }
  if (fences++ == 0) printf("up\n");
  fflush(stdout);
  usleep(PAUSE_US);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const unsigned ranks = (unsigned)atoi(argv[1]);
  slow_ms = atof(argv[2]);
  check(PMIx_Init(&self, NULL, 0), "init");
  for (unsigned round = 0, over = 0; !over; ++round) {
    publish("round", round);
    if (self.rank == 0) publish("over", round > 0 && input_ended());
    timed_fence(1);
    for (unsigned rank = 0; rank < ranks; ++rank)
      want(get(rank, "round", 1), round, "round");
    over = get(0, "over", 1);
    /* A rank must not put data again while others read it. */
    timed_fence(0);
  }
  check(PMIx_Finalize(NULL, 0), "finalize");
  printf("rank %u of %u: %u fences, %u slow, slowest %.1f ms\n", self.rank,
         ranks, fences, slow, slowest_ms);
  return 0;
}
