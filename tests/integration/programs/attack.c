/* Loads its agent as much as a program can.
 *
 * Usage: attack KIND SECONDS
 *
 * get      gets of any rank, for a key that no rank has
 * wait     gets of any rank that wait, while all ranks commit many keys
 *          repeatedly
 * rewrite  the position in the rank's commit mailbox changes all the time
 * fill     the commit mailbox is filled with the smallest commits all the time
 * barrier  rank 0 writes garbage into its job's barrier while all ranks fence
 * cleanup  rank 0 registers a directory with many files for cleanup, and ends
 * names    fences over many processes of jobs that do not exist
 * ahead    fences without end, none of which is waited for
 * half     the beginning of a large message, and nothing more
 *
 * In the first two kinds, rank 0 attacks and the others provide the data. The
 * next two kinds end as soon as the agent disconnects. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "pmix_check.h"

enum { KEYS = 4000, PENDING = 9000, WAITING = 5000 };
enum { CLEANED = 300000, NAMED = 1000000 };

static double end;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put_keys(unsigned round, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    char key[32];
    pmix_value_t v;
    PMIX_VALUE_CONSTRUCT(&v);
    v.type = PMIX_UINT32;
    v.data.uint32 = round;
    snprintf(key, sizeof key, "k.%u.%u", self.rank, i);
    check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
  }
  check(PMIx_Commit(), "commit");
}

/* ------------------------------------------------------------------- gets */

static atomic_int pending;

static void answered(pmix_status_t status, pmix_value_t *value, void *data) {
  (void)status, (void)value, (void)data;
  atomic_fetch_sub(&pending, 1);
}

static void ask(const char *key, int immediate) {
  pmix_proc_t any = self;
  pmix_info_t info;
  bool yes = true;
  any.rank = PMIX_RANK_UNDEF;
  PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
  atomic_fetch_add(&pending, 1);
  check(PMIx_Get_nb(&any, key, &info, immediate ? 1 : 0, answered, NULL),
        "get_nb");
}

static void attack_get(void) {
  put_keys(0, KEYS);
  fence(1);
  while (self.rank == 0 && now() < end) {
    if (atomic_load(&pending) < PENDING)
      ask("none", 1);
    else
      usleep(100);
  }
  while (atomic_load(&pending) > 0) usleep(1000);
  fence(0);
}

static void attack_wait(void) {
  for (unsigned i = 0; self.rank == 0 && i < WAITING; ++i) {
    char key[32];
    snprintf(key, sizeof key, "none.%u", i);
    ask(key, 0);
  }
  for (unsigned round = 1, over = 0; !over; ++round) {
    put_keys(round, KEYS / 10);
    if (self.rank == 0) publish("over", now() >= end);
    fence(1);
    over = get(0, "over", 1);
    fence(0);
    usleep(20000);
  }
}

/* --------------------------------------------------------- commit mailbox */

/* As in common/shm/commit_layout.h. */
enum { HEADER = 64, MAILBOX = 128, BYTES = 64 << 10 };
/* A record consists of its length and a commit. An empty commit is a zero. */
enum { RECORD = 5, FULL = BYTES / RECORD * RECORD };

struct mailbox {
  _Atomic uint64_t written;
  char pad[56];
  _Atomic uint64_t taken;
};

static struct mailbox *control;
static char *box;
static atomic_int over;

/* Finds the mailbox in the mappings of the library. */
static void find_mailbox(void) {
  char line[512];
  char *base = NULL;
  uint64_t begin, offset, first = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "canopy-commits") == NULL) continue;
    if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &begin, &offset) != 2)
      continue;
    if (offset == 0) {
      char *end_of;
      base = (char *)(uintptr_t)begin;
      first = strtoull(strchr(line, '-') + 1, &end_of, 16) - begin;
    } else {
      box = (char *)(uintptr_t)begin;
      control = (struct mailbox *)(uintptr_t)offset; /* relocated below */
    }
  }
  if (maps != NULL) fclose(maps);
  if (base == NULL || box == NULL) check(PMIX_ERR_NOT_FOUND, "mailbox");
  const uint64_t index = ((uint64_t)(uintptr_t)control - first) / BYTES;
  control = (struct mailbox *)(base + HEADER + index * MAILBOX);
}

/* Finds the library's connection. */
static int find_socket(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct sockaddr_un peer;
    socklen_t size = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
        strstr(peer.sun_path, "clients.sock") != NULL)
      return fd;
  }
  check(PMIX_ERR_NOT_FOUND, "connection");
  return -1;
}

static void *rewrite(void *unused) {
  (void)unused;
  for (uint64_t generation = 1; !atomic_load(&over); ++generation)
    atomic_store(&control->written, generation << 32 | FULL);
  return NULL;
}

/* Fills the mailbox as the library would, but always with the same records. */
static void *refill(void *unused) {
  (void)unused;
  while (!atomic_load(&over)) {
    const uint64_t written = atomic_load(&control->written);
    if (atomic_load(&control->taken) != written) continue;
    atomic_store(&control->written, ((written >> 32) + 1) << 32 | FULL);
  }
  return NULL;
}

static void attack_mailbox(void *(*writer)(void *)) {
  static const char record[RECORD] = {1, 0, 0, 0, 0};
  static const uint32_t frame[] = {0, 13, 0, 0}; /* kCommitted */
  pthread_t thread;
  publish("first", 1);
  find_mailbox();
  const int fd = find_socket();
  /* The mailbox may contain commits of the library. The agent must consume them
   * first. */
  if (send(fd, frame, sizeof frame, MSG_NOSIGNAL) < 0) return;
  while (atomic_load(&control->taken) != atomic_load(&control->written))
    usleep(100);
  for (int i = 0; i < FULL; i += RECORD) memcpy(box + i, record, RECORD);
  pthread_create(&thread, NULL, writer, NULL);
  while (now() < end && send(fd, frame, sizeof frame, MSG_NOSIGNAL) > 0) {
  }
  atomic_store(&over, 1);
  pthread_join(thread, NULL);
  printf("over\n");
  fflush(stdout);
  _exit(0);
}

/* ---------------------------------------------------------------- barrier */

/* Finds the barrier in the mappings of the library. */
static uint32_t *find_barrier(size_t *words) {
  char line[512];
  uint64_t begin, limit;
  uint32_t *found = NULL;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "canopy-gate") == NULL) continue;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &limit) != 2) continue;
    found = (uint32_t *)(uintptr_t)begin;
    *words = (size_t)(limit - begin) / sizeof *found;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

static void *scribble(void *unused) {
  size_t words = 0;
  uint32_t *const barrier = find_barrier(&words);
  uint32_t draw = 1 + (uint32_t)getpid();
  (void)unused;
  /* Most of the memory is unused; the state is at its beginning. */
  if (words > 64) words = 64;
  while (barrier != NULL && now() < end) {
    draw = draw * 1664525u + 1013904223u;
    __atomic_store_n(barrier + draw % words, draw, __ATOMIC_SEQ_CST);
    if ((draw >> 8) % 64 == 0) usleep(1);
  }
  return NULL;
}

static void *leave(void *unused) {
  (void)unused;
  while (now() < end) usleep(10000);
  printf("over\n");
  fflush(stdout);
  _exit(0);
}

static void attack_barrier(void) {
  pthread_t writer, watcher;
  pthread_create(&watcher, NULL, leave, NULL);
  if (self.rank == 0) pthread_create(&writer, NULL, scribble, NULL);
  while (now() < end) PMIx_Fence(NULL, 0, NULL, 0);
  pthread_join(watcher, NULL);
}

/* ------------------------------------------------- work for the agent alone */

static void attack_cleanup(void) {
  char directory[] = "/tmp/attack-XXXXXX";
  char path[64];
  pmix_info_t info[2];
  bool yes = true;
  if (self.rank != 0 || mkdtemp(directory) == NULL) return;
  PMIX_INFO_LOAD(&info[0], PMIX_REGISTER_CLEANUP_DIR, directory, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_CLEANUP_RECURSIVE, &yes, PMIX_BOOL);
  check(PMIx_Job_control(NULL, 0, info, 2, NULL, NULL), "job control");
  for (unsigned i = 0; i < CLEANED && now() < end; ++i) {
    snprintf(path, sizeof path, "%s/%u", directory, i);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
  }
}

static void attack_names(void) {
  pmix_proc_t *names = calloc(NAMED, sizeof *names);
  while (names != NULL && self.rank == 0 && now() < end) {
    for (unsigned i = 0; i < NAMED; ++i) {
      snprintf(names[i].nspace, sizeof names[i].nspace, "none-%u", i % 1000);
      names[i].rank = (i * 7919u) % NAMED;
    }
    if (PMIx_Fence(names, NAMED, NULL, 0) == PMIX_SUCCESS) exit(9);
  }
  free(names);
}

static void arrived(pmix_status_t status, void *data) {
  (void)status, (void)data;
}

static void attack_ahead(void) {
  pmix_proc_t some[2] = {self, self};
  unsigned long count = 0;
  some[0].rank = 0;
  some[1].rank = 1;
  /* The other rank does not take part. */
  while (self.rank == 0 && now() < end) {
    const pmix_status_t status =
        PMIx_Fence_nb(some, 2, NULL, 0, arrived, NULL);
    if (status != PMIX_SUCCESS || ++count % 10000 == 0) usleep(1000);
  }
  while (now() < end) usleep(10000);
  exit(0);
}

static void attack_half(void) {
  static const char piece[1 << 16];
  /* The message claims a length of 200 MiB. */
  const uint32_t frame[] = {200u << 20, 2, 0, 0}; /* kCommit */
  const int fd = find_socket();
  if (send(fd, frame, sizeof frame, MSG_NOSIGNAL) < 0) return;
  for (unsigned i = 0; i < 150 * 16; ++i)
    if (send(fd, piece, sizeof piece, MSG_NOSIGNAL) < 0) break;
  while (now() < end) usleep(10000);
  exit(0);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  end = now() + atof(argv[2]);
  if (strcmp(argv[1], "get") == 0) attack_get();
  if (strcmp(argv[1], "wait") == 0) attack_wait();
  if (strcmp(argv[1], "rewrite") == 0) attack_mailbox(rewrite);
  if (strcmp(argv[1], "fill") == 0) attack_mailbox(refill);
  if (strcmp(argv[1], "barrier") == 0) attack_barrier();
  if (strcmp(argv[1], "cleanup") == 0) attack_cleanup();
  if (strcmp(argv[1], "names") == 0) attack_names();
  if (strcmp(argv[1], "ahead") == 0) attack_ahead();
  if (strcmp(argv[1], "half") == 0) attack_half();
  check(PMIx_Finalize(NULL, 0), "finalize");
  printf("over\n");
  return 0;
}
