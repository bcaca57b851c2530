// Jobs to spawn, for programs that check PMIx_Spawn.
#ifndef CANOPY_TESTS_CONFORMANCE_CHILDREN_H_
#define CANOPY_TESTS_CONFORMANCE_CHILDREN_H_

#include "nonblocking.h"

// Returns one application, whose program does not use PMIx.
static inline pmix_app_t Program(char *path, char **argv) {
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  argv[0] = path;
  argv[1] = NULL;
  app.cmd = path;
  app.argv = argv;
  app.maxprocs = 1;
  return app;
}

static inline void OnSpawned(pmix_status_t status, char nspace[], void *call) {
  CHECK(status != PMIX_SUCCESS || nspace[0] != '\0', "a job without a name");
  Answered(call, status);
}

#endif  // CANOPY_TESTS_CONFORMANCE_CHILDREN_H_
