/* Rank 0 of a job of argv[1] ranks, which reads data of all ranks with Debian's
 * library. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_value_t *get(const pmix_proc_t *me, pmix_rank_t rank,
                         const char *key) {
  pmix_proc_t proc;
  pmix_value_t *value = NULL;
  PMIX_LOAD_PROCID(&proc, me->nspace, rank);
  pmix_status_t rc = PMIx_Get(&proc, key, NULL, 0, &value);
  if (rc != PMIX_SUCCESS) {
    fprintf(stderr, "%s of %u: %s\n", key, rank, PMIx_Error_string(rc));
    exit(1);
  }
  return value;
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  const uint32_t size = argc > 1 ? (uint32_t) atoi(argv[1]) : 0;
  const uint32_t per_node = argc > 2 ? (uint32_t) atoi(argv[2]) : 1;
  alarm(240);
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 2;
  if (get(&me, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)->data.uint32 != size) {
    return 3;
  }
  for (uint32_t rank = 0; rank < size; ++rank) {
    char host[32];
    pmix_value_t *value = get(&me, rank, PMIX_HOSTNAME);
    snprintf(host, sizeof host, "node%u", rank / per_node);
    if (strcmp(host, value->data.string) != 0) {
      fprintf(stderr, "rank %u on %s\n", rank, value->data.string);
      return 4;
    }
    PMIX_VALUE_RELEASE(value);
  }
  /* This data is not in the job's description, so the library requests it. */
  if (get(&me, size - 1, PMIX_GLOBAL_RANK)->data.rank != size - 1) return 5;
  if (get(&me, size - 1, PMIX_LOCAL_RANK)->data.uint16 != per_node - 1) {
    return 6;
  }
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 7;
}
