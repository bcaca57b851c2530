/* Opens a PMIx library with dlopen, as programs do that are not linked with one,
 * and calls functions of it that need no agent. One of them starts a server,
 * whose thread cannot be created, so that an exception is thrown and caught
 * inside the library. Afterwards the server is started without this limit.
 *
 * The program is compiled for each C library with which the library loads. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmix.h"
#include "pmix_server.h"

static void *library;

static void *function(const char *name) {
  void *const found = dlsym(library, name);
  if (NULL == found) {
    fprintf(stderr, "%s: %s\n", name, dlerror());
    exit(1);
  }
  return found;
}

#define FUNCTION(name) ((__typeof__(&name)) function(#name))

static int expect(const char *what, int is_true) {
  printf("%s: %s\n", is_true ? "ok" : "FAILED", what);
  return is_true ? 0 : 1;
}

static int check_texts(void) {
  const char *version = FUNCTION(PMIx_Get_version)();
  const char *error = FUNCTION(PMIx_Error_string)(PMIX_ERR_TIMEOUT);
  return expect("version", NULL != version && NULL != strstr(version, "PMIx")) +
         expect("text of an error", 0 == strcmp(error, "TIMEOUT"));
}

/* Allows this process no further thread. The limit does not hold for root. */
static void forbid_threads(void) {
  const struct rlimit none = {0, 0};
  if (0 != setrlimit(RLIMIT_NPROC, &none) ||
      (0 == getuid() && (0 != setgid(65534) || 0 != setuid(65534)))) {
    perror("the limit of threads");
    exit(1);
  }
}

static int check_exception(void) {
  int status = 0;
  const pid_t child = fork();
  if (0 == child) {
    forbid_threads();
    const pmix_status_t rc = FUNCTION(PMIx_server_init)(NULL, NULL, 0);
    printf("server without a thread: %s\n", FUNCTION(PMIx_Error_string)(rc));
    exit(PMIX_ERR_OUT_OF_RESOURCE == rc ? 0 : 1);
  }
  waitpid(child, &status, 0);
  return expect("an exception is caught", 0 == status);
}

static int check_server(void) {
  const pmix_status_t started = FUNCTION(PMIx_server_init)(NULL, NULL, 0);
  const pmix_status_t ended = FUNCTION(PMIx_server_finalize)();
  return expect("a server starts", PMIX_SUCCESS == started) +
         expect("a server ends", PMIX_SUCCESS == ended);
}

int main(int argc, char **argv) {
  library = 2 == argc ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (NULL == library) {
    fprintf(stderr, "%s\n", 2 == argc ? dlerror() : "usage: PROGRAM LIBRARY");
    return 1;
  }
  setvbuf(stdout, NULL, _IONBF, 0);
  return 0 == check_texts() + check_exception() + check_server() ? 0 : 1;
}
