/* init [quiet]: each rank reports the CPU time and the wall time of PMIx_Init.
 * With "quiet", nothing is reported. */
#include <pmix.h>

#include "measure.h"

int main(int argc, char **argv) {
  pmix_proc_t me;
  double wall = NowUs();
  double cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID);
  (void)argv;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  wall = NowUs() - wall;
  if (argc == 1) {
    Report("init_cpu_us", cpu);
    Report("init_wall_us", wall);
  }
  return PMIx_Finalize(NULL, 0);
}
