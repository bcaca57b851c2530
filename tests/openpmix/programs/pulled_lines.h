/* Tools that pull the standard output of two ranks of a job, a line "mine RANK"
 * each. */
#ifndef PULLED_LINES_H_
#define PULLED_LINES_H_

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char text[1 << 16];
static size_t size;

static void on_output(size_t handle, pmix_iof_channel_t channel,
                      pmix_proc_t *source, pmix_byte_object_t *payload,
                      pmix_info_t info[], size_t ninfo) {
  (void)handle, (void)channel, (void)source, (void)info, (void)ninfo;
  if (payload == NULL || payload->bytes == NULL) return;
  pthread_mutex_lock(&lock);
  if (size + payload->size < sizeof(text)) {
    memcpy(text + size, payload->bytes, payload->size);
    size += payload->size;
  }
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static int lines(void) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, "mine ")) != NULL; ++at) ++n;
  return n;
}

/* Prints both lines when they have arrived. Returns the number of the puller,
 * or an error. */
static pmix_status_t pull_lines(const char *nspace) {
  pmix_proc_t job;
  pmix_info_t copy;
  bool yes = true;
  PMIX_PROC_LOAD(&job, nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&copy, PMIX_IOF_COPY, &yes, PMIX_BOOL);
  pmix_status_t handle = PMIx_IOF_pull(
      &job, 1, &copy, 1, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL);
  if (handle < 0) return handle;
  pthread_mutex_lock(&lock);
  while (lines() < 2) pthread_cond_wait(&changed, &lock);
  for (char *line = strtok(text, "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    printf("pulled %s\n", line);
  }
  pthread_mutex_unlock(&lock);
  return handle;
}

#endif
