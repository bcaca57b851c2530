/* Shared by the benchmark programs: a clock, order statistics, and results as
 * lines "CB name value" on stdout, which compare.py collects. */
#ifndef CANOPY_BENCHMARKS_COMPARE_MEASURE_H_
#define CANOPY_BENCHMARKS_COMPARE_MEASURE_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double ClockUs(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline double NowUs(void) { return ClockUs(CLOCK_MONOTONIC); }

static inline int CompareDoubles(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts values[0..count) and returns their quantile `part`, from 0 (the
 * smallest value) to 1 (the largest). */
static inline double Quantile(double *values, size_t count, double part) {
  qsort(values, count, sizeof *values, CompareDoubles);
  return values[(size_t)(part * (double)(count - 1))];
}

static inline void Report(const char *name, double value) {
  printf("CB %s %.4f\n", name, value);
}

/* Reports the median of the `count` values one(0), one(1), ... */
static inline void Measure(double (*one)(int), int count, const char *name) {
  double *values = calloc((size_t)count, sizeof *values);
  for (int i = 0; i < count; ++i) values[i] = one(i);
  Report(name, Quantile(values, (size_t)count, 0.5));
  free(values);
}

static inline void Require(int rc, const char *what) {
  if (rc == 0) return;
  fprintf(stderr, "%s: %d\n", what, rc);
  exit(1);
}

#endif
