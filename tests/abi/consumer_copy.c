// Checks that a library of the same process uses the program's copy of
// libpmix's data. A program that is not position-independent has such a copy,
// at an address of its own.
//
// Usage: consumer_copy SLOTS
//
// SLOTS is the number of elements of the copy of pmix_framework_names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char* pmix_framework_names[];
char** names_seen(void);

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int slots = atoi(argv[1]);
  if (names_seen() != pmix_framework_names) {
    printf("two arrays: %p here, %p in the library\n",
           (void*)pmix_framework_names, (void*)names_seen());
    return 1;
  }
  int count = 0;
  int found = 0;
  while (count < slots && pmix_framework_names[count] != NULL) {
    found |= strcmp(pmix_framework_names[count++], "ptl") == 0;
  }
  if (!found) printf("no ptl among the names\n");
  if (count == slots) printf("no NULL among the %d slots\n", slots);
  return found && count < slots ? 0 : 1;
}
