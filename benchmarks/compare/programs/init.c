/* init [quiet]: the CPU and wall time of PMIx_Init, one line for each rank. */
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
