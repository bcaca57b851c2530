// The table of docs/reserved_keys.md: for each reserved key, the ways in which
// a get finds it, and its type. Words: a file, and "print" if rank 0 shall only
// print the lines that it finds. The file has a line for each key: the key, the
// type, and a word with a letter for each way that finds the key (see kWays),
// or "-" if no way does.
#include "check.h"

// The ways in which a key is requested; kWays has their letters.
enum { kJob, kSelf, kNear, kFar, kInSession, kInJob, kInApp, kInNode, kInFar };
static const char kWays[] = "jsnfSJANF";
enum { kNumWays = sizeof(kWays) - 1 };

static pmix_rank_t g_near;  // another rank of this node, or this rank
static pmix_rank_t g_far;   // a rank of another node, or this rank
static char *g_far_host;

static void FindPeers(void) {
  g_near = g_far = g_self.rank;
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank == g_self.rank) continue;
    if (IsLocal(rank)) {
      g_near = rank;
    } else {
      g_far = rank;
    }
  }
  const pmix_proc_t far = ProcOf(g_far);
  g_far_host = MustGetText(&far, PMIX_HOSTNAME, NULL);
}

// Returns whether there is a peer for the request.
static bool HasWay(int way) {
  if (way == kNear) return g_near != g_self.rank;
  if (way == kFar || way == kInFar) return g_far != g_self.rank;
  return true;
}

static pmix_proc_t ProcFor(int way) {
  switch (way) {
    case kSelf:
      return g_self;
    case kNear:
      return ProcOf(g_near);
    case kFar:
      return ProcOf(g_far);
    default:
      return g_job;
  }
}

static Directives DirectivesFor(int way) {
  Directives none = {.count = 0};
  static const char *const kRealms[kNumWays] = {
      [kInSession] = PMIX_SESSION_INFO,
      [kInJob] = PMIX_JOB_INFO,
      [kInApp] = PMIX_APP_INFO,
      [kInNode] = PMIX_NODE_INFO,
      [kInFar] = PMIX_NODE_INFO};
  if (kRealms[way] == NULL) return none;
  Directives with = Flag(kRealms[way]);
  if (way == kInFar) AddText(&with, PMIX_HOSTNAME, g_far_host);
  return with;
}

// Returns the type's name without "PMIX_", or null if the key is not found.
static const char *Ask(const char *key, int way) {
  const pmix_proc_t proc = ProcFor(way);
  const Directives with = DirectivesFor(way);
  pmix_value_t *value = NULL;
  const pmix_status_t status = GetWith(&proc, key, &with, &value);
  if (status == PMIX_ERR_NOT_FOUND) return NULL;
  CHECK(status == PMIX_SUCCESS, "%s asked as '%c' gives %s", key, kWays[way],
        PMIx_Error_string(status));
  const char *type = PMIx_Data_type_string(value->type);
  PMIX_VALUE_RELEASE(value);
  return strncmp(type, "PMIX_", 5) == 0 ? type + 5 : type;
}

static void Print(const char *key) {
  char found[kNumWays + 1] = "";
  const char *type = NULL;
  for (int way = 0; way < kNumWays; ++way) {
    const char *got = HasWay(way) ? Ask(key, way) : NULL;
    if (got == NULL) continue;
    type = got;
    found[strlen(found)] = kWays[way];
  }
  printf("%s %s %s\n", key, type == NULL ? "-" : type,
         found[0] == '\0' ? "-" : found);
}

static void Check(const char *key, const char *type, const char *wanted) {
  for (int way = 0; way < kNumWays; ++way) {
    if (!HasWay(way)) continue;
    const bool want = strchr(wanted, kWays[way]) != NULL;
    const char *got = Ask(key, way);
    CHECK((got != NULL) == want, "%s asked as '%c' is %sfound", key, kWays[way],
          got == NULL ? "not " : "");
    CHECK(got == NULL || strcmp(type, "-") == 0 || strcmp(got, type) == 0,
          "%s has type %s, not %s", key, got, type);
  }
}

static void Table(const char *path, bool prints) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "%s", path);
  char key[512], type[64], ways[64];
  while (fscanf(file, "%511s %63s %63s", key, type, ways) == 3) {
    if (prints) {
      Print(key);
    } else {
      Check(key, type, ways);
    }
  }
  fclose(file);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no file");
  const bool prints = argc > 4 && strcmp(argv[4], "print") == 0;
  FindPeers();
  if (!prints || g_self.rank == 0) Table(argv[3], prints);
  free(g_far_host);
  Barrier();
  return Finish();
}
