/* Prints argv[1] blocks of one MiB, then waits for the end of its input. Block
 * B is a line of B in 15 digits followed by the same text in every block; with
 * a second argument the blocks have no newlines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, LINE = 64, HEAD = 16 };

int main(int argc, char **argv) {
  static char block[BLOCK];
  const long blocks = argc > 1 ? atol(argv[1]) : 1;
  const char last = argc > 2 ? ' ' : '\n';
  for (int i = 0; i < BLOCK; ++i) block[i] = (char)('!' + i * 7 % 89);
  for (int i = LINE - 1; i < BLOCK; i += LINE) block[i] = last;
  block[HEAD - 1] = last;
  for (long b = 0; b < blocks; ++b) {
    char head[HEAD];
    snprintf(head, sizeof head, "%015ld", b);
    memcpy(block, head, HEAD - 1);
    for (size_t done = 0; done < BLOCK;) {
      const ssize_t n = write(1, block + done, BLOCK - done);
      if (n < 0) return 1;
      done += (size_t)n;
    }
  }
  while (read(0, block, sizeof block) > 0) {
  }
  return 0;
}
