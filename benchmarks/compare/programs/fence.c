/* fence MODE COUNT: time of COUNT PMIx_Fence calls as rank 0 sees them.
 * MODE none: without data. MODE collect: before each fence every rank puts and
 * commits 1 KiB under a new key and the fence collects it. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

enum { kValueBytes = 1024, kWindow = 10 };

static void PutOne(int i) {
  static char bytes[kValueBytes];
  char key[32];
  pmix_value_t value;
  snprintf(key, sizeof key, "bench.%d", i % 16);
  memset(bytes, i, sizeof bytes);
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = sizeof bytes;
  Require(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
  Require(PMIx_Commit(), "PMIx_Commit");
}

/* Median of the window that ends with fence `last`. */
static double Around(const double *times, int last) {
  double window[kWindow];
  memcpy(window, times + last - kWindow, sizeof window);
  return Quantile(window, kWindow, 0.5);
}

static void ReportAll(double *times, int count) {
  Report("early_us", Around(times, 20));
  Report("late_us", Around(times, count));
  Report("median_us", Quantile(times, (size_t)count, 0.5));
  Report("p10_us", Quantile(times, (size_t)count, 0.1));
}

int main(int argc, char **argv) {
  const int collect = argc > 1 && strcmp(argv[1], "collect") == 0;
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  double *times = calloc((size_t)count, sizeof *times);
  pmix_proc_t me;
  pmix_info_t info;
  double cpu;
  Require(count < 20, "a COUNT of at least 20 is needed");
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < count; ++i) {
    const double start = NowUs();
    if (collect) PutOne(i);
    Require(PMIx_Fence(NULL, 0, &info, (size_t)collect), "PMIx_Fence");
    times[i] = NowUs() - start;
  }
  cpu = ClockUs(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  if (me.rank == 0) {
    ReportAll(times, count);
    Report("client_cpu_us", cpu / count);
  }
  PMIX_INFO_DESTRUCT(&info);
  free(times);
  return PMIx_Finalize(NULL, 0);
}
