/* A library to be preloaded into a program that speaks one of the agent's
 * protocols. It lets a number of the program's messages pass, and then sends
 * something else: what, and when, follows from a seed, so that each seed is one
 * attack. The process is the program's own, so that the agent believes it.
 *
 * ADVERSARY_TARGET  unix:NAME  sockets whose path has NAME in it
 *                   tcp        connections to 127.0.0.0/8
 *                   pmi        the descriptor PMI_FD
 *                   fd:NUMBER  this descriptor
 * ADVERSARY_SEED    a number
 * ADVERSARY_SEED_FILE  a file with the number, for a program whose environment
 *                   is set before; without the file there is no attack
 * ADVERSARY_LOG     a file that gets a line when it attacks */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  MOST_MESSAGES = 24, /* messages that pass before the attack */
  RECORDED = 1 << 20,
  RUBBISH = 1 << 20,
  FLOOD_SECONDS = 2,
};

/* The attacks. */
enum {
  GARBAGE,  /* random bytes in place of the message */
  FLIP,     /* some bits of the message are inverted */
  HALF,     /* half of the message, and then nothing */
  CUT,      /* half of the message, and then the end of the stream */
  HUGE_ONE, /* the message claims a great length, and little follows */
  LENGTH,   /* another length in the first bytes */
  AGAIN,    /* the message many times */
  REPLAY,   /* earlier messages in another order */
  FLOOD,    /* the message all the time, and no answer is read */
  DRIP,     /* the message byte by byte */
  STOP,     /* the process stops in the middle of the message */
  ATTACKS
};

static const char *const names[ATTACKS] = {
    "garbage", "flip",  "half",   "cut",   "huge", "length",
    "again",   "replay", "flood", "drip", "stop"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *target;
static uint64_t state;
static unsigned left;
static int kind;
static int begun;
static char record[RECORDED];
static size_t recorded;

static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % below;
}

static int env_number(const char *name, int missing) {
  const char *text = getenv(name);
  return text == NULL ? missing : atoi(text);
}

/* Sets `*seed`. Returns 0 if there must be no attack. */
static int seed_of(int *seed) {
  const char *path = getenv("ADVERSARY_SEED_FILE");
  *seed = env_number("ADVERSARY_SEED", 1);
  if (path == NULL) return 1;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  const int found = fscanf(file, "%d", seed) == 1;
  fclose(file);
  return found;
}

static void prepare(void) {
  int seed = 1;
  target = getenv("ADVERSARY_TARGET");
  if (!seed_of(&seed)) target = NULL;
  /* Each rank makes a different attack. */
  const int rank = env_number("PMIX_RANK", env_number("PMI_RANK", 0));
  state = 0x9e3779b97f4a7c15u * (uint64_t)(seed + 1);
  state ^= (uint64_t)rank << 32;
  for (int i = 0; i < 8; ++i) draw(2);
  left = (unsigned)draw(MOST_MESSAGES);
  kind = (int)draw(ATTACKS);
}

static int has_name(const struct sockaddr_un *address) {
  return memmem(address->sun_path, sizeof address->sun_path, target + 5,
                strlen(target + 5)) != NULL;
}

static int is_target(int fd) {
  static int prepared;
  pthread_mutex_lock(&mutex);
  if (!prepared) prepare();
  prepared = 1;
  pthread_mutex_unlock(&mutex);
  if (target == NULL) return 0;
  if (strncmp(target, "fd:", 3) == 0) return fd == atoi(target + 3);
  if (strcmp(target, "pmi") == 0) return fd == env_number("PMI_FD", -1);
  union {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
  } peer;
  socklen_t size = sizeof peer;
  memset(&peer, 0, sizeof peer);
  if (getpeername(fd, &peer.any, &size) != 0) return 0;
  if (strncmp(target, "unix:", 5) == 0)
    return peer.any.sa_family == AF_UNIX && has_name(&peer.un);
  return peer.any.sa_family == AF_INET &&
         ntohl(peer.in.sin_addr.s_addr) >> 24 == 127;
}

/* ---------------------------------------------------------------- sending */

typedef ssize_t (*sendmsg_call)(int, const struct msghdr *, int);

static sendmsg_call real_sendmsg(void) {
  static sendmsg_call call;
  if (call == NULL) call = (sendmsg_call)dlsym(RTLD_NEXT, "sendmsg");
  return call;
}

static ssize_t put_some(int fd, const char *data, size_t size, int flags) {
  struct iovec part = {(void *)(uintptr_t)data, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return real_sendmsg()(fd, &message, flags | MSG_NOSIGNAL);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sends all data, or the part that the agent accepts within some time. */
static int put(int fd, const char *data, size_t size) {
  const double end = now() + FLOOD_SECONDS;
  while (size > 0) {
    const ssize_t n = put_some(fd, data, size, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return 0;
    if (n < 0 && now() > end) return 0;
    if (n < 0) usleep(200);
    if (n > 0) data += n, size -= (size_t)n;
  }
  return 1;
}

static void put_rubbish(int fd, size_t size) {
  char *data = malloc(size);
  for (size_t i = 0; data != NULL && i < size; ++i) data[i] = (char)draw(256);
  if (data != NULL) put(fd, data, size);
  free(data);
}

static void put_changed(int fd, const char *data, size_t size, size_t where) {
  char *copy = malloc(size);
  if (copy == NULL) return;
  memcpy(copy, data, size);
  for (unsigned i = 0; i <= draw(8); ++i)
    copy[draw(where < size ? where : size)] ^= (char)(1 << draw(8));
  put(fd, copy, size);
  free(copy);
}

static void put_huge(int fd, const char *data, size_t size) {
  const uint32_t lengths[] = {0xffffffffu, 0x10000000u, 0x0c000000u, 0x100000u};
  const uint32_t length = lengths[draw(4)];
  char head[64];
  memset(head, 0, sizeof head);
  memcpy(head, data, size < sizeof head ? size : sizeof head);
  memcpy(head, &length, sizeof length);
  put(fd, head, sizeof head);
  put_rubbish(fd, (size_t)draw(RUBBISH) + 1);
}

static void replay(int fd) {
  for (int i = 0; i < 50 && recorded > 1; ++i) {
    const size_t from = (size_t)draw(recorded - 1);
    if (!put(fd, record + from, (size_t)draw(recorded - from) + 1)) return;
  }
}

static void flood(int fd, const char *data, size_t size) {
  const double end = now() + FLOOD_SECONDS;
  while (now() < end && put(fd, data, size)) {
  }
}

static void drip(int fd, const char *data, size_t size) {
  const double end = now() + FLOOD_SECONDS;
  for (size_t i = 0; i < size && now() < end; ++i) {
    put(fd, data + i, 1);
    usleep(1000);
  }
}

static void tell(size_t size) {
  const char *path = getenv("ADVERSARY_LOG");
  FILE *file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  fprintf(file, "%s: %s of %zu bytes\n", target, names[kind], size);
  fclose(file);
}

static void attack(int fd, const char *data, size_t size) {
  tell(size);
  switch (kind) {
    case GARBAGE:
      return put_rubbish(fd, (size_t)draw(RUBBISH) + 1);
    case FLIP:
      return put_changed(fd, data, size, size);
    case LENGTH:
      return put_changed(fd, data, size, 8);
    case HUGE_ONE:
      return put_huge(fd, data, size);
    case AGAIN:
      for (int i = 0; i < 2000 && put(fd, data, size); ++i) {
      }
      return;
    case REPLAY:
      return replay(fd);
    case FLOOD:
      return flood(fd, data, size);
    case DRIP:
      return drip(fd, data, size);
    default:
      put(fd, data, size / 2);
      if (kind == CUT) shutdown(fd, SHUT_WR);
      if (kind == STOP) raise(SIGSTOP);
      if (kind == HALF) sleep(FLOOD_SECONDS);
  }
}

/* Returns true if the message was replaced. */
static int replaced(int fd, const char *data, size_t size) {
  if (size == 0 || !is_target(fd)) return 0;
  pthread_mutex_lock(&mutex);
  const int mine = !begun && left == 0;
  if (!begun && left > 0) --left;
  begun |= mine;
  const size_t room = sizeof record - recorded;
  memcpy(record + recorded, data, size < room ? size : room);
  recorded += size < room ? size : room;
  pthread_mutex_unlock(&mutex);
  if (mine) attack(fd, data, size);
  return mine;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  size_t size = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i)
    size += message->msg_iov[i].iov_len;
  char *whole = malloc(size + 1);
  size_t at = 0;
  for (size_t i = 0; whole != NULL && i < message->msg_iovlen; ++i) {
    memcpy(whole + at, message->msg_iov[i].iov_base,
           message->msg_iov[i].iov_len);
    at += message->msg_iov[i].iov_len;
  }
  const int mine = whole != NULL && replaced(fd, whole, size);
  free(whole);
  return mine ? (ssize_t)size : real_sendmsg()(fd, message, flags);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
  if (replaced(fd, data, size)) return (ssize_t)size;
  return put_some(fd, data, size, flags);
}

ssize_t write(int fd, const void *data, size_t size) {
  static ssize_t (*call)(int, const void *, size_t);
  if (call == NULL)
    call = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  return replaced(fd, data, size) ? (ssize_t)size : call(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  static ssize_t (*call)(int, const struct iovec *, int);
  if (call == NULL)
    call = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
  if (!is_target(fd)) return call(fd, parts, count);
  struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                           .msg_iovlen = (size_t)count};
  return sendmsg(fd, &message, 0);
}
