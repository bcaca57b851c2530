/* Prints the beginning of the version of the PMIx library that was loaded. */
#include <stdio.h>
#include <stdlib.h>

const char *PMIx_Get_version(void);
#ifdef WANTS_MORE
int pmix_more(void);
#endif
#ifdef WANTS_DEEP
int middle(void);
#endif

int main(void) {
  const char *rank = getenv("PMIX_RANK");
#ifdef WANTS_MORE
  if (pmix_more() != 7) return 1;
#endif
#ifdef WANTS_DEEP
  if (middle() != 7) return 1;
#endif
  printf("rank %s has %.8s\n", rank == NULL ? "none" : rank,
         PMIx_Get_version());
  return 0;
}
