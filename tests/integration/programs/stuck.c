/* Runs two fences. Before the second fence, rank argv[1] prints a message and
 * stops itself, as a SIGSTOP from outside would. */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  pmix_proc_t me;
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) return 2;
  if (argc > 1 && me.rank == (pmix_rank_t)atoi(argv[1])) {
    puts("stops");
    fflush(stdout);
    raise(SIGSTOP);
  }
  const pmix_status_t status = PMIx_Fence(NULL, 0, NULL, 0);
  if (status != PMIX_SUCCESS) printf("fence: %s\n", PMIx_Error_string(status));
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 3;
}
