/* A tool that pulls what the ranks of the namespace in argument 1 write, from the
 * cache too, until two of them have said "mine"; then it says what it has got,
 * each line behind "pulled ". */
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char text[1 << 16];
static size_t size;
static bool ended;

static void on_output(size_t handle, pmix_iof_channel_t channel,
                      pmix_proc_t *source, pmix_byte_object_t *payload,
                      pmix_info_t info[], size_t ninfo) {
  (void) handle, (void) channel, (void) source, (void) info, (void) ninfo;
  if (payload == NULL || payload->bytes == NULL) return;
  pthread_mutex_lock(&lock);
  if (size + payload->size < sizeof(text)) {
    memcpy(text + size, payload->bytes, payload->size);
    size += payload->size;
  }
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

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

static int lines(void) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, "mine ")) != NULL; ++at) ++n;
  return n;
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  pmix_proc_t job;
  pmix_info_t copy;
  bool yes = true;
  alarm(30);
  if (PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  PMIX_PROC_LOAD(&job, argv[argc - 1], PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&copy, PMIX_IOF_COPY, &yes, PMIX_BOOL);
  pmix_status_t handle =
      PMIx_IOF_pull(&job, 1, &copy, 1, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL,
                    NULL);
  if (handle < 0) {
    fprintf(stderr, "PMIx_IOF_pull: %d\n", handle);
    return 2;
  }
  pthread_mutex_lock(&lock);
  while (lines() < 2) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    printf("pulled %s\n", line);
  }
  fflush(stdout);
  /* With a callback: without one, both threads of OpenPMIx 4.2.2 free the
   * request, and its own thread can wait for ever in what is freed. */
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
