/* Shared by the test programs over the PMIx API. A call that fails ends the
 * program with 9. */
#ifndef PMIX_CHECK_H
#define PMIX_CHECK_H

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

static pmix_proc_t self;

static void check(int rc, const char *what) {
  if (rc == PMIX_SUCCESS) return;
  fprintf(stderr, "rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(rc));
  exit(9);
}

static void publish(const char *key, unsigned value) {
  pmix_value_t v;
  PMIX_VALUE_CONSTRUCT(&v);
  v.type = PMIX_UINT32;
  v.data.uint32 = value;
  check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
  check(PMIx_Commit(), "commit");
}

/* `optional` accepts only data that is available locally. */
static unsigned get(unsigned rank, const char *key, int optional) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  pmix_info_t info;
  bool yes = true;
  proc.rank = rank;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  check(PMIx_Get(&proc, key, &info, optional ? 1 : 0, &value), key);
  if (value->type != PMIX_UINT32) check(PMIX_ERR_TYPE_MISMATCH, key);
  const unsigned got = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return got;
}

static void want(unsigned got, unsigned wanted, const char *key) {
  if (got == wanted) return;
  fprintf(stderr, "rank %u: %s is %u, not %u\n", self.rank, key, got, wanted);
  exit(9);
}

static void fence(int collect) {
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(NULL, 0, &info, collect ? 1 : 0), "fence");
}

#endif
