#ifndef CANOPY_TESTS_ABI_MACRO_TEXT_H_
#define CANOPY_TESTS_ABI_MACRO_TEXT_H_

/* Checks of the macros for names, arrays of text and environments. */

#include <stdlib.h>
#include <string.h>

#include "tests/abi/macro_expect.h"

static void check_names(void) {
  pmix_info_t info;
  pmix_proc_t a;
  pmix_proc_t b;
  pmix_nspace_t whole;
  pmix_nspace_t cluster;
  pmix_nspace_t nspace;
  char text[600];
  memset(text, 'x', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  PMIX_LOAD_KEY(info.key, text);
  EXPECT(PMIX_MAX_KEYLEN == strlen(info.key));
  PMIX_LOAD_KEY(info.key, NULL);
  EXPECT(all_zero(info.key, sizeof(info.key)));
  PMIX_LOAD_KEY(info.key, PMIX_JOB_SIZE);
  EXPECT(PMIX_CHECK_KEY(&info, PMIX_JOB_SIZE));
  EXPECT(!PMIX_CHECK_KEY(&info, PMIX_JOBID));
  EXPECT(PMIX_CHECK_RESERVED_KEY(info.key));
  EXPECT(!PMIX_CHECK_RESERVED_KEY("my.key"));
  PMIX_LOAD_NSPACE(whole, text);
  EXPECT(PMIX_MAX_NSLEN == strlen(whole));
  PMIX_PROC_LOAD(&a, "one", 3);
  PMIX_LOAD_PROCID(&b, "one", 4);
  EXPECT(PMIX_CHECK_NSPACE(a.nspace, b.nspace));
  EXPECT(PMIX_CHECK_NSPACE(a.nspace, ""));
  EXPECT(!PMIX_CHECK_NSPACE(a.nspace, "two"));
  EXPECT(!PMIX_CHECK_RANK(a.rank, b.rank));
  EXPECT(PMIX_CHECK_RANK(a.rank, PMIX_RANK_WILDCARD));
  EXPECT(!PMIX_CHECK_PROCID(&a, &b));
  PMIX_XFER_PROCID(&b, &a);
  EXPECT(PMIX_CHECK_PROCID(&a, &b));
  b.rank = PMIX_RANK_WILDCARD;
  EXPECT(PMIX_CHECK_PROCID(&a, &b));
  PMIX_PROCID_XFER(&b, &a);
  EXPECT(3 == b.rank);
  EXPECT(!PMIX_PROCID_INVALID(&a));
  a.rank = PMIX_RANK_INVALID;
  EXPECT(PMIX_PROCID_INVALID(&a));
  EXPECT(PMIX_NSPACE_INVALID("") && !PMIX_NSPACE_INVALID("x"));
  EXPECT(PMIX_RANK_IS_VALID(7) && !PMIX_RANK_IS_VALID(PMIX_RANK_WILDCARD));
  PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(whole, "east", "job:1");
  EXPECT(0 == strcmp(whole, "east:job:1"));
  PMIX_MULTICLUSTER_NSPACE_PARSE(whole, cluster, nspace);
  EXPECT(0 == strcmp(cluster, "east") && 0 == strcmp(nspace, "job:1"));
  PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(whole, text, "job");
  EXPECT('\0' == whole[0]);
  EXPECT(PMIX_SYSTEM_EVENT(PMIX_EVENT_NODE_DOWN));
  EXPECT(!PMIX_SYSTEM_EVENT(PMIX_ERR_TIMEOUT));
}

static void check_arrays_of_text(void) {
  char **argv = NULL;
  char **copy = NULL;
  char *joined;
  int count;
  pmix_status_t rc;
  PMIX_ARGV_COUNT(count, argv);
  EXPECT(0 == count);
  PMIX_ARGV_APPEND(rc, argv, "b");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_PREPEND(rc, argv, "a");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_APPEND_UNIQUE(rc, &argv, "b");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_APPEND_UNIQUE(rc, &argv, "c");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_ARGV_COPY(copy, argv);
  PMIX_ARGV_FREE(argv);
  PMIX_ARGV_COUNT(count, copy);
  EXPECT(3 == count);
  PMIX_ARGV_JOIN(joined, copy, ',');
  EXPECT(0 == strcmp(joined, "a,b,c"));
  PMIX_ARGV_FREE(copy);
  free(joined);
  PMIX_ARGV_SPLIT(argv, ",x,,y,", ',');
  PMIX_ARGV_JOIN(joined, argv, '-');
  EXPECT(0 == strcmp(joined, "x-y"));
  PMIX_ARGV_FREE(argv);
  free(joined);
  argv = pmix_argv_split_with_empty("a,,b,", ',');
  PMIX_ARGV_JOIN(joined, argv, '-');
  EXPECT(0 == strcmp(joined, "a--b"));
  PMIX_ARGV_FREE(argv);
  free(joined);
  EXPECT(NULL == pmix_argv_split("", ','));
  PMIX_ARGV_JOIN(joined, NULL, ',');
  EXPECT(0 == strcmp(joined, ""));
  free(joined);
}

static void check_environments(void) {
  extern char **environ;
  char **env = NULL;
  char **saved = environ;
  char *own;
  int count;
  pmix_status_t rc;
  PMIX_SETENV(rc, "CANOPY_A", "1", &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[0], "CANOPY_A=1"));
  EXPECT(PMIX_ERR_EXISTS == pmix_setenv("CANOPY_A", "2", false, &env));
  EXPECT(0 == strcmp(env[0], "CANOPY_A=1"));
  PMIX_SETENV(rc, "CANOPY_A", "2", &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[0], "CANOPY_A=2"));
  PMIX_SETENV(rc, "CANOPY", NULL, &env);
  EXPECT(PMIX_SUCCESS == rc && 0 == strcmp(env[1], "CANOPY="));
  EXPECT(PMIX_ERR_BAD_PARAM == pmix_setenv("CANOPY", "x", true, NULL));
  pmix_argv_free(env);

  PMIX_SETENV(rc, "CANOPY_OWN", "1", &environ);
  EXPECT(PMIX_SUCCESS == rc && NULL != getenv("CANOPY_OWN"));
  PMIX_ARGV_COUNT(count, environ);
  own = environ[count - 1];
  PMIX_SETENV(rc, "CANOPY_OWN", NULL, &environ);
  EXPECT(PMIX_SUCCESS == rc && NULL == getenv("CANOPY_OWN"));
  free(own);
  free(environ);
  environ = saved;
}

#endif /* CANOPY_TESTS_ABI_MACRO_TEXT_H_ */
