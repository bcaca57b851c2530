/* The daemon of debugger.c, which runs on each node of the debugged job. It
 * finds that job by PMIX_DEBUG_TARGET, requests the local processes from its
 * agent, attaches a gdb to each of them, and prints their innermost frames.
 * gdb detaches when it ends. */
#include <unistd.h>

#include "check.h"

/* Prints the innermost frames from gdb's output. Returns false if gdb could not
 * attach. */
static bool print_place(const pmix_proc_info_t *process) {
  char command[256];
  char line[4096];
  int frames = 0;
  snprintf(command, sizeof command,
           "gdb -nx -q -batch -iex 'set debuginfod enabled off' -p %d -ex bt "
           "2>/dev/null </dev/null",
           (int)process->pid);
  FILE *gdb = popen(command, "r");
  CHECK(gdb != NULL);
  while (fgets(line, sizeof line, gdb) != NULL) {
    if (*line != '#') continue;
    ++frames;
    printf("rank %u: %s", process->proc.rank, line);
  }
  pclose(gdb);
  return frames > 0;
}

static void look_at(const char *nspace) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t status;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_LOCAL_PROC_TABLE);
  CHECK_OK(status);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
  CHECK_OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 1 && results[0].value.type == PMIX_DATA_ARRAY);
  const pmix_data_array_t *table = results[0].value.data.darray;
  const pmix_proc_info_t *rows = table->array;
  for (size_t i = 0; i < table->size; ++i) {
    CHECK(rows[i].pid > 0);
    CHECK(print_place(&rows[i]));
  }
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
}

int main(void) {
  pmix_value_t *target = NULL;
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  pmix_proc_t job = peer(PMIX_RANK_WILDCARD);
  CHECK_OK(PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &target));
  CHECK(target->type == PMIX_PROC);
  look_at(target->data.proc->nspace);
  PMIX_VALUE_RELEASE(target);
  fflush(stdout);
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}
