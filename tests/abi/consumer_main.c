// Loads a library that refers to the names that existing programs use from
// libpmix, and checks how its references were resolved.
//
// Usage: consumer_main LIBRARY PRELOAD NAME...
//
// PRELOAD is a library that a host loads first with global visibility, or "-".
// LD_BIND_NOW in the environment means that references are resolved at once.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int IsInLibpmix(const char* name) {
  const void* const address = dlsym(RTLD_DEFAULT, name);
  Dl_info where;
  if (address == NULL || dladdr(address, &where) == 0) {
    printf("%s: unresolved\n", name);
    return 0;
  }
  if (strstr(where.dli_fname, "/libpmix.so.2") == NULL) {
    printf("%s: in %s\n", name, where.dli_fname);
    return 0;
  }
  return 1;
}

// Returns 1 if the array of texts, which ends with NULL, contains "ptl". Open
// MPI 5 searches it for this name.
static int HasNames(char** names) {
  int found = 0;
  for (; *names != NULL; ++names) found |= strcmp(*names, "ptl") == 0;
  if (!found) printf("no ptl among the names\n");
  return found;
}

static void* Open(const char* path) {
  const int when = getenv("LD_BIND_NOW") != NULL ? RTLD_NOW : RTLD_LAZY;
  void* const library = dlopen(path, when | RTLD_GLOBAL);
  if (library == NULL) printf("%s\n", dlerror());
  return library;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[2], "-") != 0 && Open(argv[2]) == NULL) return 1;
  void* const library = Open(argv[1]);
  if (library == NULL) return 1;
  int good = 1;
  for (int i = 3; i < argc; ++i) good &= IsInLibpmix(argv[i]);
  char** (*const names)(void) = (char** (*)(void))dlsym(library, "names_seen");
  if (names != NULL) good &= HasNames(names());
  return good ? 0 : 1;
}
