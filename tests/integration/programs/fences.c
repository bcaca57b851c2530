/* Runs fences that collect data, one after the other, until rank 0 reads the
 * end of its input. After each, every rank checks the data that every rank put
 * before it. Prints "up" after the first fence. argv[1]: size of the job.
 * argv[2]: bytes of each rank. */
#include <poll.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;

static void must(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "rank %u: %s: %s\n", self.rank, what,
          PMIx_Error_string(status));
  exit(3);
}

static int input_ended(void) {
  char byte;
  struct pollfd in = {STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* The first byte states whether this was the last round. */
static void put(char *bytes, size_t size, unsigned round, int last) {
  memset(bytes, (int)('a' + (round + self.rank) % 26), size);
  bytes[0] = last ? 'L' : '-';
  bytes[size - 1] = 0;
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = bytes;
  must(PMIx_Put(PMIX_GLOBAL, "round", &value), "put");
  must(PMIx_Commit(), "commit");
}

static int get(pmix_rank_t rank, size_t size, unsigned round) {
  pmix_proc_t peer;
  pmix_value_t *value = NULL;
  pmix_info_t fresh;
  PMIX_PROC_LOAD(&peer, self.nspace, rank);
  PMIX_INFO_LOAD(&fresh, PMIX_GET_REFRESH_CACHE, NULL, PMIX_BOOL);
  must(PMIx_Get(&peer, "round", &fresh, 1, &value), "get");
  const char *text = value->data.string;
  if (strlen(text) != size - 1 ||
      text[size - 2] != (char)('a' + (round + rank) % 26)) {
    fprintf(stderr, "rank %u: wrong data of rank %u in round %u\n", self.rank,
            rank, round);
    exit(4);
  }
  const int last = text[0] == 'L';
  PMIX_VALUE_RELEASE(value);
  return last;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const pmix_rank_t ranks = (pmix_rank_t)atoi(argv[1]);
  const size_t size = (size_t)atoi(argv[2]);
  char *bytes = malloc(size);
  must(PMIx_Init(&self, NULL, 0), "init");
  pmix_info_t collect;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
  for (unsigned round = 0, last = 0; !last; ++round) {
    put(bytes, size, round, self.rank == 0 && round > 0 && input_ended());
    must(PMIx_Fence(NULL, 0, &collect, 1), "fence");
    for (pmix_rank_t rank = 0; rank < ranks; ++rank) {
      const int says = get(rank, size, round);
      if (rank == 0) last = (unsigned)says;
    }
    /* A rank must not overwrite data that others still read. */
    must(PMIx_Fence(NULL, 0, NULL, 0), "second fence");
    if (round == 0) printf("up\n");
    fflush(stdout);
  }
  must(PMIx_Finalize(NULL, 0), "finalize");
  printf("fences ok %u\n", self.rank);
  return 0;
}
