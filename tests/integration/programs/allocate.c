/* Requests an allocation of N nodes with PMIx_Allocation_request, and prints
 * the status and the number of results. Usage: ALLOCATE N */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  pmix_proc_t self;
  if (argc != 2 || PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 2;
  uint64_t nodes = strtoull(argv[1], NULL, 10);
  pmix_info_t info, *results = NULL;
  size_t nresults = 0;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  pmix_status_t status = PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1,
                                                 &results, &nresults);
  printf("allocate: %d, %zu results\n", status, nresults);
  for (size_t i = 0; i < nresults; ++i) {
    if (results[i].value.type == PMIX_STRING) {
      printf("%s=%s\n", results[i].key, results[i].value.data.string);
    }
  }
  PMIX_INFO_FREE(results, nresults);
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 2;
}
