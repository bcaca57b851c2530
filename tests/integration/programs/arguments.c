/* Prints its arguments, one on each line, in hexadecimal, so that any byte is
 * visible. */
#include <stdio.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    putchar('=');
    for (const char *c = argv[i]; *c != '\0'; ++c) {
      printf("%02x", (unsigned char)*c);
    }
    putchar('\n');
  }
  return 0;
}
