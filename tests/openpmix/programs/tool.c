/* A tool that queries its server as pquery does: the namespaces, and the
 * processes and the size of the namespace in argument 1. It prints one line for
 * each. */
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_value_t ask(const char *key, const char *nspace) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t rc;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, key);
  if (nspace != NULL) {
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
  }
  rc = PMIx_Query_info(&query, 1, &results, &count);
  if (rc != PMIX_SUCCESS || count != 1) {
    fprintf(stderr, "%s: %d\n", key, rc);
    exit(1);
  }
  return results[0].value;
}

static volatile int alerts;

static void on_alert(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                     size_t nresults, pmix_event_notification_cbfunc_fn_t next,
                     void *next_data) {
  (void) id, (void) status, (void) source, (void) info, (void) ninfo;
  (void) results, (void) nresults;
  ++alerts;
  next(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, next_data);
}

/* Monitors the tool itself, which sends no heartbeats. */
static void monitor(void) {
  pmix_status_t code = PMIX_MONITOR_HEARTBEAT_ALERT;
  pmix_info_t what, *results = NULL;
  pmix_info_t often;
  uint32_t seconds = 1;
  size_t count = 0;
  PMIx_Register_event_handler(&code, 1, NULL, 0, on_alert, NULL, NULL);
  PMIX_INFO_LOAD(&what, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
  PMIX_INFO_LOAD(&often, PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
  pmix_status_t rc =
      PMIx_Process_monitor(&what, code, &often, 1, &results, &count);
  if (rc != PMIX_SUCCESS) {
    fprintf(stderr, "monitor: %d\n", rc);
    exit(1);
  }
  while (alerts == 0) usleep(10000);
  printf("alerted\n");
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  const char *nspace = argv[argc - 1];
  alarm(30);
  if (PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  printf("namespaces %s\n", ask(PMIX_QUERY_NAMESPACES, NULL).data.string);
  printf("size %u\n", ask(PMIX_JOB_SIZE, nspace).data.uint32);
  pmix_data_array_t *table = ask(PMIX_QUERY_PROC_TABLE, nspace).data.darray;
  for (size_t i = 0; i < table->size; ++i) {
    const pmix_proc_info_t *p = (pmix_proc_info_t *) table->array + i;
    printf("process %s.%u pid %d of %s on %s state %d\n", p->proc.nspace,
           p->proc.rank, p->pid, p->executable_name, p->hostname, p->state);
  }
  monitor();
  return PMIx_tool_finalize();
}
