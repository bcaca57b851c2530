/* Requests an allocation of N nodes, spawns a job of one process in it, awaits
 * the end of that job, and releases the allocation. Usage: allocate_spawn N */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "status_check.h"

static volatile bool over;

static void on_end(size_t handler, pmix_status_t status,
                   const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t results[], size_t nresults,
                   pmix_event_notification_cbfunc_fn_t done, void *data) {
  over = true;
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* Returns the name of the new allocation. */
static const char *allocate(uint64_t nodes) {
  pmix_info_t info, *results = NULL;
  size_t count = 0;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  CHECK_OK(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &count));
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(results[i].key, PMIX_ALLOC_ID) == 0) {
      return results[i].value.data.string;
    }
  }
  fail(__LINE__, "no name", PMIX_ERR_NOT_FOUND);
  return NULL;
}

static void spawn_in(const char *allocation) {
  char *argv[] = {"true", NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = "true";
  app.argv = argv;
  app.maxprocs = 1;
  bool yes = true;
  pmix_info_t infos[2];
  PMIX_INFO_LOAD(&infos[0], PMIX_ALLOC_ID, allocation, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
  pmix_nspace_t child;
  CHECK_OK(PMIx_Spawn(infos, 2, &app, 1, child));
  while (!over) usleep(1000);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  pmix_status_t ended = PMIX_EVENT_JOB_END;
  const pmix_status_t handler =
      PMIx_Register_event_handler(&ended, 1, NULL, 0, on_end, NULL, NULL);
  if (handler < 0) fail(__LINE__, "PMIx_Register_event_handler", handler);
  const char *allocation = allocate(strtoull(argv[1], NULL, 10));
  spawn_in(allocation);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_ID, allocation, PMIX_STRING);
  pmix_info_t *results = NULL;
  size_t count = 0;
  CHECK_OK(PMIx_Allocation_request(PMIX_ALLOC_RELEASE, &info, 1, &results,
                                   &count));
  printf("allocate_spawn ok\n");
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}
