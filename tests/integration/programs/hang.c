// Rank 0 never arrives at the fence that all others are in.
#include <pmix.h>
#include <stdio.h>
#include <unistd.h>

void __attribute__((noinline)) not_in_the_fence(void) {
  for (;;) pause();
}

int main(void) {
  pmix_proc_t self;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 1;
  printf("up %s\n", self.nspace);
  fflush(stdout);
  if (self.rank == 0) not_in_the_fence();
  return PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS;
}
