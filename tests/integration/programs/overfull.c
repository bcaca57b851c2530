/* Rank 0 reads a line and commits one key after the other until its node has no
 * room for more, which gives an error. Earlier commits, and the commits of the
 * others, are unaffected; the commit without room is sent as a message. Usage:
 * overfull BYTES_OF_A_KEY */
#include <string.h>

#include "pmix_check.h"

enum { kMostKeys = 20000 };

static void load(unsigned i, char *data, size_t bytes) {
  char key[32];
  pmix_value_t v;
  snprintf(key, sizeof key, "full%u", i);
  memset(data, (int)i, bytes);
  PMIX_VALUE_CONSTRUCT(&v);
  v.type = PMIX_BYTE_OBJECT;
  v.data.bo.bytes = data;
  v.data.bo.size = bytes;
  check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
}

/* Returns the number of keys for which there was room. */
static unsigned fill(size_t bytes) {
  char *data = malloc(bytes);
  for (unsigned i = 0; i < kMostKeys; ++i) {
    load(i, data, bytes);
    const int rc = PMIx_Commit();
    if (rc == PMIX_ERR_OUT_OF_RESOURCE) return i;
    check(rc, "commit");
  }
  fprintf(stderr, "there is room for everything\n");
  exit(9);
}

/* Returns the number of keys that rank 0 has put, each of which must be
 * complete. */
static unsigned count(size_t bytes) {
  pmix_proc_t proc = self;
  pmix_info_t info;
  bool yes = true;
  proc.rank = 0;
  PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
  for (unsigned i = 0;; ++i) {
    char key[32];
    pmix_value_t *value = NULL;
    snprintf(key, sizeof key, "full%u", i);
    const int rc = PMIx_Get(&proc, key, &info, 1, &value);
    if (rc == PMIX_ERR_NOT_FOUND) return i;
    check(rc, key);
    want((unsigned)value->data.bo.size, (unsigned)bytes, key);
    for (size_t at = 0; at < bytes; ++at) {
      want((unsigned char)value->data.bo.bytes[at], (unsigned char)i, key);
    }
    PMIX_VALUE_RELEASE(value);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const size_t bytes = (size_t)atol(argv[1]);
  check(PMIx_Init(&self, NULL, 0), "init");
  printf("here\n");
  fflush(stdout);
  if (self.rank == 0) {
    getchar();
    printf("room for %u\n", fill(bytes));
  } else {
    publish("small", self.rank);
  }
  fence(0);
  if (self.rank == 0) want(get(1, "small", 1), 1, "small");
  /* The next value of "small" may be visible as soon as it is committed, so all
   * ranks first wait for rank 0. */
  fence(0);
  if (self.rank != 0) {
    publish("small", self.rank + 100);
    printf("found %u\n", count(bytes));
  }
  fence(0);
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
