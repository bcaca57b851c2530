/* Holds idle connections.
 *
 *   squat UID COUNT unix PATH
 *   squat UID COUNT tcp ADDRESS PORT
 *
 * As that user it opens COUNT connections, and another connection for each that
 * the other side closes, until its standard input ends. Prints "held" once it
 * has opened COUNT connections, closed ones included, and at its end the
 * maximum number that were open. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kMost = 10000 };

static union {
  struct sockaddr any;
  struct sockaddr_in in;
  struct sockaddr_un un;
} address;
static socklen_t size;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/* Opens a connection and returns its descriptor. Returns -1 if the other side
 * has no room at the moment, or is gone. */
static int dial(void) {
  const int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("socket");
  if (connect(fd, &address.any, size) == 0 || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

static void parse(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[3], "unix") == 0) {
    address.un.sun_family = AF_UNIX;
    strncpy(address.un.sun_path, argv[4], sizeof address.un.sun_path - 1);
    size = sizeof address.un;
  } else if (argc == 6 && strcmp(argv[3], "tcp") == 0) {
    address.in.sin_family = AF_INET;
    address.in.sin_port = htons((uint16_t)atoi(argv[5]));
    if (inet_pton(AF_INET, argv[4], &address.in.sin_addr) != 1) exit(2);
    size = sizeof address.in;
  } else {
    exit(2);
  }
}

int main(int argc, char **argv) {
  parse(argc, argv);
  const uid_t uid = (uid_t)atoi(argv[1]);
  const int count = atoi(argv[2]);
  if (count < 1 || count > kMost) return 2;
  struct rlimit limit = {kMost + 100, kMost + 100};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("setrlimit");
  if (setresuid(uid, uid, uid) != 0) fail("setresuid");
  static struct pollfd polls[kMost + 1];
  for (int i = 0; i <= count; ++i) polls[i] = (struct pollfd){-1, POLLIN, 0};
  polls[count].fd = STDIN_FILENO;
  int opened = 0, most = 0, told = 0;
  while (polls[count].revents == 0) {
    int open = 0;
    for (int i = 0; i < count; ++i) {
      if (polls[i].fd >= 0 && polls[i].revents != 0) {
        close(polls[i].fd);
        polls[i].fd = -1;
      }
      if (polls[i].fd < 0 && (polls[i].fd = dial()) >= 0) ++opened;
      if (polls[i].fd >= 0) ++open;
    }
    if (open > most) most = open;
    if (opened >= count && !told) {
      told = 1;
      printf("held\n");
      fflush(stdout);
    }
    poll(polls, (nfds_t)count + 1, 10);
  }
  printf("at most %d\n", most);
  return 0;
}
