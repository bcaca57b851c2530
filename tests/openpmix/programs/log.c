/* Text that ranks log is part of their output: once, unaltered, and in order.
 * `log SIZE order`:   text and output of one stream keep their order.
 * `log SIZE kind`:    all ranks log the same kind of message.
 * `log SIZE abort`:   the last rank logs, then aborts with status 9.
 * `log SIZE refused`: unsupported requests are rejected. */
#include <pmix.h>

#include "check.h"

#define LINES 40
#define LONG_TEXT 200000

static pmix_status_t log_text(const char *key, const char *text,
                              pmix_info_t *dirs, size_t ndirs) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
  pmix_status_t rc = PMIx_Log(&info, 1, dirs, ndirs);
  PMIX_INFO_DESTRUCT(&info);
  return rc;
}

/* Odd lines are written, even lines are logged. */
static void order(void) {
  char line[100];
  for (int i = 0; i < LINES; ++i) {
    snprintf(line, sizeof line, "r%u out %d\n", me.rank, i);
    if (i % 2 == 1) {
      TRUE_(write(1, line, strlen(line)) == (ssize_t)strlen(line));
    } else {
      OK(log_text(PMIX_LOG_STDOUT, line, NULL, 0));
    }
  }
  /* After the fence, lines of other ranks are complete. */
  fence(0);
  snprintf(line, sizeof line, "r%u \t\"<&>\" \xc3\xa4 no newline;", me.rank);
  OK(log_text(PMIX_LOG_STDERR, line, NULL, 0));
  OK(log_text(PMIX_LOG_STDERR, "\n", NULL, 0));
  fence(0);
  if (me.rank != 0) return;
  char *text = malloc(LONG_TEXT + 1);
  memset(text, 'x', LONG_TEXT);
  text[LONG_TEXT - 1] = '\n';
  text[LONG_TEXT] = '\0';
  OK(log_text(PMIX_LOG_STDERR, text, NULL, 0));
  free(text);
}

static void kind(void) {
  bool yes = true;
  char text[100];
  pmix_info_t dirs[3];
  PMIX_INFO_LOAD(&dirs[0], PMIX_LOG_AGG, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&dirs[1], PMIX_LOG_KEY, "help-file.txt", PMIX_STRING);
  PMIX_INFO_LOAD(&dirs[2], PMIX_LOG_VAL, "some topic", PMIX_STRING);
  snprintf(text, sizeof text, "help of r%u\n", me.rank);
  OK(log_text(PMIX_LOG_STDERR, text, dirs, 3));
}

static void refused(void) {
  bool yes = true;
  pmix_info_t dir;
  REFUSED(log_text(PMIX_LOG_GLOBAL_SYSLOG, "x", NULL, 0));
  REFUSED(log_text(PMIX_LOG_GLOBAL_DATASTORE, "x", NULL, 0));
  PMIX_INFO_LOAD(&dir, PMIX_LOG_XML_OUTPUT, &yes, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&dir);
  REFUSED(log_text(PMIX_LOG_STDERR, "x", &dir, 1));
  PMIX_INFO_LOAD(&dir, PMIX_LOG_TAG_OUTPUT, &yes, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&dir);
  OK(log_text(PMIX_LOG_STDOUT, "tagged\n", &dir, 1));
}

int main(int argc, char **argv) {
  begin(argc, argv);
  const char *what = argc > 2 ? argv[2] : "order";
  fence(0);
  if (strcmp(what, "order") == 0) order();
  if (strcmp(what, "kind") == 0) kind();
  if (strcmp(what, "refused") == 0) refused();
  if (strcmp(what, "abort") == 0) {
    if (me.rank == job_size - 1) {
      close(2);
      OK(log_text(PMIX_LOG_STDERR, "last words\n", NULL, 0));
      pmix_status_t rc = PMIx_Abort(9, "enough", NULL, 0);
      printf("abort: %s\n", PMIx_Error_string(rc));
      fflush(stdout);
    }
    for (;;) pause();
  }
  fence(0);
  return end("log");
}
