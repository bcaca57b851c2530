// 600 fences that collect 1 KiB of each rank; each must bring the posted data.
// Prints the time of the first and the last hundred. WORD: "same" replaces one
// key, "new" posts a new key each time.
#include <time.h>

#include "check.h"

enum { kFences = 600, kWindow = 100, kBytes = 1024 };

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int Compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double Median(double *from) {
  double sorted[kWindow];
  memcpy(sorted, from, sizeof(sorted));
  qsort(sorted, kWindow, sizeof(*sorted), Compare);
  return sorted[kWindow / 2];
}

static void Post(const char *key, int round) {
  char bytes[kBytes];
  memset(bytes, round, sizeof(bytes));
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = sizeof(bytes);
  OK(PMIx_Put(PMIX_GLOBAL, key, &value));
  OK(PMIx_Commit());
}

static void CheckPeer(pmix_rank_t rank, const char *key, int round) {
  const pmix_proc_t peer = ProcOf(rank);
  const Directives optional = Flag(PMIX_OPTIONAL);
  pmix_value_t *value = MustGet(&peer, key, &optional, PMIX_BYTE_OBJECT);
  CHECK(value->data.bo.size == kBytes, "%zu bytes", value->data.bo.size);
  // The peer may already be one round ahead.
  const char byte = value->data.bo.bytes[7];
  CHECK(byte == (char)round || byte == (char)(round + 1),
        "round %d: data of rank %u is of round %d", round, rank, byte);
  PMIX_VALUE_RELEASE(value);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no word");
  const bool fresh = strcmp(argv[3], "new") == 0;
  static double micros[kFences];
  Barrier();
  for (int round = 0; round < kFences; ++round) {
    char key[64] = "repeated";
    if (fresh) snprintf(key, sizeof(key), "round.%d", round);
    Post(key, round);
    const double begin = Now();
    FenceCollect();
    micros[round] = Now() - begin;
    CheckPeer((g_self.rank + 1 + (pmix_rank_t)round) % g_size, key, round);
  }
  const double first = Median(micros);
  const double last = Median(micros + kFences - kWindow);
  if (g_self.rank == 0) {
    printf("fence of 1 KiB x %u, %s key: first median %.0f us, last %.0f us\n",
           g_size, argv[3], first, last);
  }
  Barrier();
  return Finish();
}
