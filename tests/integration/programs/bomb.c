/* Spawns itself without end, and so does every child. A process whose spawn is
 * refused prints the status and ends all jobs. */
#include <string.h>
#include <unistd.h>

#include "status_check.h"

int main(int argc, char **argv) {
  (void)argc;
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_status_t status = PMIX_SUCCESS;
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(argv[0]);
  app.maxprocs = 1;
  PMIX_ARGV_APPEND(status, app.argv, argv[0]);
  while (status == PMIX_SUCCESS) {
    status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
  }
  printf("refused: %s\n", PMIx_Error_string(status));
  fflush(stdout);
  return PMIx_Abort(7, "refused", NULL, 0);
}
