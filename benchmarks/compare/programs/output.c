/* output MIB: every rank writes MIB MiB to its standard output, in lines, as
 * fast as the reader accepts them. The program does not use PMIx. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLine = 64, kBlock = 1 << 16 };

int main(int argc, char **argv) {
  const long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
  static char block[kBlock];
  memset(block, '.', sizeof(block));
  for (size_t end = kLine; end <= sizeof(block); end += kLine) {
    block[end - 1] = '\n';
  }
  setvbuf(stdout, NULL, _IONBF, 0);
  for (long left = mib * (1L << 20) / kBlock; left > 0; --left) {
    if (fwrite(block, 1, sizeof(block), stdout) != sizeof(block)) return 1;
  }
  return 0;
}
