/* Shared by programs that expect a certain status of each call. The first other
 * status ends the program with 1. */
#ifndef STATUS_CHECK_H
#define STATUS_CHECK_H

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

static pmix_proc_t self;

static void fail(int line, const char *what, pmix_status_t status) {
  fprintf(stderr, "rank %u: line %d: %s: %s\n", self.rank, line, what,
          PMIx_Error_string(status));
  exit(1);
}
#define CHECK_STATUS(call, wanted)                   \
  do {                                               \
    const pmix_status_t got = (call);                \
    if (got != (wanted)) fail(__LINE__, #call, got); \
  } while (0)
#define CHECK_OK(call) CHECK_STATUS(call, PMIX_SUCCESS)

#endif
