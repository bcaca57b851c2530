/* Prints argv[1] numbered lines, each in several writes, as a program with its
 * own buffering does: "rank R line I" and I % 200 letters. Every second line
 * goes to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(int fd, const char *text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, text, size);
    if (n < 0) exit(1);
    text += n;
    size -= (size_t)n;
  }
}

int main(int argc, char **argv) {
  const char *rank = getenv("PMIX_RANK");
  const int lines = argc > 1 ? atoi(argv[1]) : 10;
  char line[512];
  for (int i = 0; i < lines; ++i) {
    const int fd = 1 + i % 2;
    const int head = snprintf(line, sizeof line, "rank %s line %d ", rank, i);
    memset(line + head, 'x', (size_t)(i % 200));
    const size_t size = (size_t)(head + i % 200);
    line[size] = '\n';
    const size_t cut = (size_t)(i * 7) % (size + 1);
    put(fd, line, cut);
    put(fd, line + cut, size + 1 - cut);
  }
  return 0;
}
