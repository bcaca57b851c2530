/* A tool without a server that starts a launcher. Usage: starts FILE LAUNCHER
 * ARGS. The launcher writes the address of its agent into FILE, where this tool
 * finds it. Prints the jobs as soon as there is one. */
#include <pmix_tool.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void check(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "starts: %s: %s\n", what, PMIx_Error_string(status));
  _exit(1);
}

static void pause_a_little(void) {
  const struct timespec pause = {0, 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
}

static void start_launcher(const char *file, char **argv) {
  char variable[4096];
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_info_t tool;
  pmix_status_t status;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(argv[0]);
  app.maxprocs = 1;
  for (; *argv != NULL; ++argv) PMIX_ARGV_APPEND(status, app.argv, *argv);
  snprintf(variable, sizeof variable, "PMIX_LAUNCHER_RNDZ_FILE=%s", file);
  PMIX_ARGV_APPEND(status, app.env, variable);
  check(status, "arguments");
  PMIX_INFO_LOAD(&tool, PMIX_SPAWN_TOOL, NULL, PMIX_BOOL);
  check(PMIx_Spawn(&tool, 1, &app, 1, nspace), "spawn");
}

static void attach(const char *file) {
  pmix_info_t infos[2];
  for (int i = 0; i < 1000 && access(file, F_OK) != 0; ++i) pause_a_little();
  PMIX_INFO_LOAD(&infos[0], PMIX_TOOL_ATTACHMENT_FILE, file, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_PRIMARY_SERVER, NULL, PMIX_BOOL);
  check(PMIx_tool_attach_to_server(NULL, NULL, infos, 2), "attach");
}

/* Returns false if there are no jobs yet. */
static bool print_jobs(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t status;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_NAMESPACES);
  check(status, "key");
  status = PMIx_Query_info(&query, 1, &results, &count);
  if (status != PMIX_SUCCESS || count == 0) return false;
  const char *names = results[0].value.data.string;
  if (names == NULL || *names == '\0') return false;
  printf("jobs %s\n", names);
  return true;
}

int main(int argc, char **argv) {
  pmix_proc_t self;
  pmix_info_t infos[2];
  if (argc < 3) return 2;
  PMIX_INFO_LOAD(&infos[0], PMIX_LAUNCHER, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
  check(PMIx_tool_init(&self, infos, 2), "init");
  start_launcher(argv[1], argv + 2);
  attach(argv[1]);
  bool found = false;
  for (int i = 0; i < 1000 && !found; ++i) {
    found = print_jobs();
    if (!found) pause_a_little();
  }
  fflush(stdout);
  /* Release 4.2.2 deadlocks in PMIx_tool_finalize. */
  _exit(found ? 0 : 1);
}
