/* pmi1 COUNT: measures the barrier of the PMI-1 wire protocol, averaged over
 * blocks of ten. The program speaks the protocol itself, so the time is that of
 * an MPICH process manager alone, without a PMI library. With COUNT 0, the
 * program only initialises and finalizes. */
#include <string.h>
#include <unistd.h>

#include "measure.h"

enum { kBlock = 10 };

static int fd;

static void Ask(const char *request, const char *answer) {
  char line[1024];
  size_t have = 0;
  const size_t length = strlen(request);
  Require(write(fd, request, length) != (ssize_t)length, "write");
  do {
    const ssize_t got = read(fd, line + have, sizeof line - 1 - have);
    Require(got <= 0, "read");
    have += (size_t)got;
  } while (line[have - 1] != '\n');
  line[have] = '\0';
  Require(strstr(line, answer) == NULL, line);
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  double *blocks = calloc((size_t)count / kBlock + 1, sizeof *blocks);
  const char *where = getenv("PMI_FD");
  const char *rank = getenv("PMI_RANK");
  Require(where == NULL || rank == NULL, "PMI_FD and PMI_RANK are not set");
  fd = atoi(where);
  Ask("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init");
  if (count > 0) Ask("cmd=barrier_in\n", "cmd=barrier_out");
  for (int b = 0; b < count / kBlock; ++b) {
    const double start = NowUs();
    for (int i = 0; i < kBlock; ++i) Ask("cmd=barrier_in\n", "cmd=barrier_out");
    blocks[b] = (NowUs() - start) / kBlock;
  }
  if (count > 0 && atoi(rank) == 0) {
    Report("median_us", Quantile(blocks, (size_t)count / kBlock, 0.5));
    Report("p10_us", Quantile(blocks, (size_t)count / kBlock, 0.1));
  }
  Ask("cmd=finalize\n", "cmd=finalize_ack");
  free(blocks);
  return 0;
}
