/* A tool that pulls the output of the ranks of the namespace in argument 1,
 * including cached output, until two of them have written "mine". Then it
 * prints what it has received, each line after "pulled ". */
#include <unistd.h>

#include "pulled_lines.h"

static bool ended;

static void on_end(pmix_status_t status, void *cbdata) {
  (void) cbdata;
  if (status != PMIX_SUCCESS) {
    fprintf(stderr, "PMIx_IOF_deregister: %d\n", status);
  }
  pthread_mutex_lock(&lock);
  ended = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  alarm(30);
  if (PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  pmix_status_t handle = pull_lines(argv[argc - 1]);
  if (handle < 0) {
    fprintf(stderr, "PMIx_IOF_pull: %d\n", handle);
    return 2;
  }
  fflush(stdout);
  /* The call has a callback. Without a callback, both threads of OpenPMIx 4.2.2
   * free the request, and its own thread may wait for ever in the freed memory.
   */
  pmix_status_t rc =
      PMIx_IOF_deregister((size_t) handle, NULL, 0, on_end, NULL);
  if (rc != PMIX_SUCCESS) {
    fprintf(stderr, "PMIx_IOF_deregister: %d\n", rc);
    return 3;
  }
  pthread_mutex_lock(&lock);
  while (!ended) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return PMIx_tool_finalize();
}
