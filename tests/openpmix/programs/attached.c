/* A tool that attaches to the server of the process in argument 1, or without
 * an argument to the server that it finds, and prints the jobs of this server.
 */
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  pmix_proc_t me;
  pmix_info_t server;
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  size_t ninfo = 0;
  alarm(30);
  if (argc > 1) {
    pid_t pid = (pid_t) atoi(argv[1]);
    PMIX_INFO_LOAD(&server, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    ninfo = 1;
  }
  pmix_status_t rc = PMIx_tool_init(&me, ninfo ? &server : NULL, ninfo);
  if (rc != PMIX_SUCCESS) {
    printf("init %d\n", rc);
    return 3;
  }
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
  rc = PMIx_Query_info(&query, 1, &results, &count);
  if (rc != PMIX_SUCCESS || count != 1) {
    printf("query %d\n", rc);
    return 4;
  }
  printf("jobs %s\n", results[0].value.data.string);
  return PMIx_tool_finalize();
}
