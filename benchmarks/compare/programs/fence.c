/* fence MODE COUNT: measures the time of a PMIx_Fence, averaged over blocks of
 * ten. A single fence means little, because the last participant leaves it at
 * once. MODE none: the fences collect no data. MODE collect: before each fence
 * every rank puts and commits 1 KiB, which the fence collects. MODE grow: like
 * collect, but with a new key before each fence. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

enum { kValueBytes = 1024, kBlock = 10 };

/* "collect" uses the same ten keys repeatedly, because it measures the exchange
 * and not the amount of data. Each value is new, so that it has to be sent. */
static void PutOne(int key_number, int i) {
  static char bytes[kValueBytes];
  char key[32];
  pmix_value_t value;
  snprintf(key, sizeof key, "bench.%d", key_number);
  memset(bytes, i, sizeof bytes);
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = sizeof bytes;
  Require(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
  Require(PMIx_Commit(), "PMIx_Commit");
}

static void ReportAll(double *blocks, int count) {
  Report("early_us", blocks[1]);
  Report("late_us", blocks[count - 1]);
  Report("median_us", Quantile(blocks, (size_t)count, 0.5));
  Report("p10_us", Quantile(blocks, (size_t)count, 0.1));
}

int main(int argc, char **argv) {
  const int grow = argc > 1 && strcmp(argv[1], "grow") == 0;
  const int collect = grow || (argc > 1 && strcmp(argv[1], "collect") == 0);
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  double *blocks = calloc((size_t)count / kBlock, sizeof *blocks);
  pmix_proc_t me;
  pmix_info_t info;
  double cpu;
  Require(count < 20, "a COUNT of at least 20 is needed");
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID);
  for (int b = 0; b < count / kBlock; ++b) {
    const double start = NowUs();
    for (int i = 0; i < kBlock; ++i) {
      const int n = b * kBlock + i;
      if (collect) PutOne(grow ? n : i, n);
      Require(PMIx_Fence(NULL, 0, &info, (size_t)collect), "PMIx_Fence");
    }
    blocks[b] = (NowUs() - start) / kBlock;
  }
  cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  if (me.rank == 0) {
    ReportAll(blocks, count / kBlock);
    Report("client_cpu_us", cpu / count);
  }
  PMIX_INFO_DESTRUCT(&info);
  free(blocks);
  return PMIx_Finalize(NULL, 0);
}
