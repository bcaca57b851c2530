/* A rank of the second node ends without finalizing (two_servers.c). Processes
 * that wait for it get an error, also on the first node.
 *
 *   half */
#include <pmix.h>
#include <stdio.h>
#include <unistd.h>

#include "status_check.h"

#define CHECK_FAILS(call)                                \
  do {                                                   \
    const pmix_status_t got = (call);                    \
    if (got == PMIX_SUCCESS) fail(__LINE__, #call, got); \
  } while (0)

int main(void) {
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  if (self.rank == 1) _exit(0);
  alarm(60);
  CHECK_FAILS(PMIx_Fence(NULL, 0, NULL, 0));
  pmix_proc_t all = self;
  all.rank = PMIX_RANK_WILDCARD;
  CHECK_FAILS(PMIx_Connect(&all, 1, NULL, 0));
  printf("half ok\n");
  fflush(stdout);
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}
