// Used by programs that run as two jobs at the same time. Each job learns the
// namespace of the other. The program's words are a directory with the pipes
// "first" and "second", and the number of this job, "first" or "second".
#ifndef CANOPY_TESTS_CONFORMANCE_MEET_H_
#define CANOPY_TESTS_CONFORMANCE_MEET_H_

#include "check.h"

static pmix_nspace_t g_other;  // after Meet

// Rank 0 of each job sends its namespace to rank 0 of the other.
static inline void Tell(const char *directory, const char *pipe) {
  char path[600];
  snprintf(path, sizeof(path), "%s/%s", directory, pipe);
  FILE *out = fopen(path, "w");
  CHECK(out != NULL, "%s", path);
  fprintf(out, "%s\n", g_self.nspace);
  fclose(out);
}

static inline void Hear(const char *directory, const char *pipe, char *nspace) {
  char path[600];
  snprintf(path, sizeof(path), "%s/%s", directory, pipe);
  FILE *in = fopen(path, "r");
  CHECK(in != NULL && fscanf(in, "%255s", nspace) == 1, "%s", path);
  fclose(in);
}

// Returns true in the first job.
static inline bool Meet(int argc, char **argv) {
  CHECK(argc > 4, "no words");
  const bool first = strcmp(argv[4], "first") == 0;
  if (g_self.rank == 0) {
    char nspace[PMIX_MAX_NSLEN + 1];
    if (first) Tell(argv[3], "first");
    Hear(argv[3], first ? "second" : "first", nspace);
    if (!first) Tell(argv[3], "second");
    PutText(PMIX_GLOBAL, "other", nspace);
    OK(PMIx_Commit());
  }
  const pmix_proc_t root = ProcOf(0);
  char *nspace = MustGetText(&root, "other", NULL);
  PMIX_LOAD_NSPACE(g_other, nspace);
  CHECK(strcmp(g_other, g_self.nspace) != 0, "met itself");
  free(nspace);
  return first;
}

static inline pmix_proc_t Other(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_other, rank);
  return proc;
}

#endif  // CANOPY_TESTS_CONFORMANCE_MEET_H_
