/* A rank whose user tries to have root's files removed by its server.
 *
 *   cleanup_race DIRECTORY TARGET
 *
 * TARGET belongs to root and has a file "file" and an empty directory "hollow".
 * DIRECTORY belongs to the user. The rank makes a directory with a file and a
 * directory of the same names there, registers these for removal some thousand
 * times by one path, and ends. Its child exchanges the directory on that path
 * with a link to TARGET until all registered removals are done: the last of
 * them is a file, whose removal the child awaits. The user's "hollow" is not
 * empty, so that it stays, and the child makes "file" again. Prints
 * "cleanup_race ok REGISTERED" before it ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "status_check.h"

enum { kCalls = 45, kPathsOfACall = 100 }; /* of each kind */

static char directory[PATH_MAX];
static int own; /* the user's directory, wherever it is */

static void path_of(const char *name, char *path) {
  snprintf(path, PATH_MAX, "%.3000s/%s.%u", directory, name, self.rank);
}

static void must(bool done, const char *what) {
  if (done) return;
  perror(what);
  exit(9);
}

static void make_file(void) {
  close(openat(own, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void register_paths(const char *key, const char *path, int times) {
  char *list = calloc((size_t)times, strlen(path) + 2);
  for (int i = 0; i < times; ++i) strcat(strcat(list, i ? "," : ""), path);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, list, PMIX_STRING);
  CHECK_OK(PMIx_Job_control(NULL, 0, &info, 1, NULL, NULL));
  PMIX_INFO_DESTRUCT(&info);
  free(list);
}

static void exchange_until_gone(const char *place, const char *link,
                                const char *last) {
  /* Closes the inherited connection, so that the rank's connection ends with
   * the rank. */
  own = dup2(own, 0);
  close_range(1, ~0U, 0);
  alarm(60);
  while (access(last, F_OK) == 0) {
    renameat2(AT_FDCWD, place, AT_FDCWD, link, RENAME_EXCHANGE);
    make_file();
  }
  _exit(0);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  snprintf(directory, sizeof directory, "%s", argv[1]);
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  char place[PATH_MAX], link[PATH_MAX], last[PATH_MAX];
  path_of("place", place);
  path_of("link", link);
  path_of("last", last);
  must(mkdir(place, 0700) == 0, place);
  must(symlink(argv[2], link) == 0, link);
  own = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
  close(open(last, O_CREAT | O_WRONLY, 0600));
  make_file();
  must(mkdirat(own, "hollow", 0700) == 0, "hollow");
  must(mkdirat(own, "hollow/full", 0700) == 0, "hollow/full");
  for (int i = 0; i < kCalls; ++i) {
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/file", place);
    register_paths(PMIX_REGISTER_CLEANUP, path, kPathsOfACall);
    snprintf(path, sizeof path, "%s/hollow", place);
    register_paths(PMIX_REGISTER_CLEANUP_DIR, path, kPathsOfACall);
  }
  register_paths(PMIX_REGISTER_CLEANUP, last, 1);
  printf("cleanup_race ok %d\n", 2 * kCalls * kPathsOfACall);
  fflush(stdout);
  /* A host may end all ranks after one has ended without finalizing. */
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) exchange_until_gone(place, link, last);
  usleep(1000); /* the exchange has begun */
  _exit(0);
}
