/* Requests the names of the nodes in a loop. Usage: resolve SECONDS */
#include <time.h>

#include "check.h"

int main(int argc, char **argv) {
  const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
  unsigned asked = 0;
  OK(PMIx_Init(&me, NULL, 0));
  for (; time(NULL) < end; ++asked) {
    char *nodes = NULL;
    OK(PMIx_Resolve_nodes(asked % 2 == 0 ? NULL : me.nspace, &nodes));
    free(nodes);
  }
  OK(PMIx_Finalize(NULL, 0));
  printf("asked %u times\n", asked);
  return 0;
}
