// Scopes of PMIx_Put: who may see what, by a fence that collects and by direct
// modex; PMIX_DATA_SCOPE; a second put replaces value and scope.
#include "check.h"

static const char *const kNames[] = {"local", "remote", "global", "internal"};
static const pmix_scope_t kScopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL,
                                       PMIX_INTERNAL};
enum { kLocal, kRemote, kGlobal, kInternal, kCount };

static void KeyFor(char *key, const char *round, int scope) {
  snprintf(key, PMIX_MAX_KEYLEN, "%s.%s", round, kNames[scope]);
}

static void PutAll(const char *round, uint32_t number) {
  for (int scope = 0; scope < kCount; ++scope) {
    char key[64];
    KeyFor(key, round, scope);
    PutU32(kScopes[scope], key, number);
  }
}

static void MustSee(pmix_rank_t rank, const char *key, const Directives *with,
                    uint32_t number) {
  const pmix_proc_t peer = ProcOf(rank);
  const uint32_t got = MustGetNumber(&peer, key, with, PMIX_UINT32);
  CHECK(got == number, "%s of rank %u is %u, not %u", key, rank, got, number);
}

static void MustNotSee(pmix_status_t why, pmix_rank_t rank, const char *key,
                       const Directives *with) {
  const pmix_proc_t peer = ProcOf(rank);
  MustFail(why, &peer, key, with);
}

// What one may see of a peer, and why not of the rest.
static void CheckPeer(const char *round, pmix_rank_t rank,
                      const Directives *with, uint32_t number) {
  const bool near = IsLocal(rank);
  char key[64];
  KeyFor(key, round, kGlobal);
  MustSee(rank, key, with, number);
  KeyFor(key, round, kLocal);
  if (near) {
    MustSee(rank, key, with, number);
  } else {
    MustNotSee(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, rank, key, with);
  }
  KeyFor(key, round, kRemote);
  if (near) {
    MustNotSee(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, rank, key, with);
  } else {
    MustSee(rank, key, with, number);
  }
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  KeyFor(key, round, kInternal);
  MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, &immediate);
}

static void CheckPeers(const char *round, const Directives *with,
                       uint32_t number) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank != g_self.rank) CheckPeer(round, rank, with, number + rank);
  }
}

// Of its own data a process sees all, committed or not.
static void CheckOwn(const char *round, uint32_t number) {
  for (int scope = 0; scope < kCount; ++scope) {
    char key[64];
    KeyFor(key, round, scope);
    MustSee(g_self.rank, key, NULL, number);
    Directives with = {.count = 0};
    AddScope(&with, kScopes[scope]);
    MustSee(g_self.rank, key, &with, number);
    for (int other = 0; other < kCount; ++other) {
      if (other == scope) continue;
      Directives wrong = {.count = 0};
      AddScope(&wrong, kScopes[other]);
      MustNotSee(PMIX_ERR_NOT_FOUND, g_self.rank, key, &wrong);
    }
  }
}

static void DataScope(const char *round, uint32_t number) {
  Directives local = Flag(PMIX_IMMEDIATE);
  AddScope(&local, PMIX_LOCAL);
  Directives remote = Flag(PMIX_IMMEDIATE);
  AddScope(&remote, PMIX_REMOTE);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank == g_self.rank) continue;
    char key[64];
    KeyFor(key, round, IsLocal(rank) ? kLocal : kRemote);
    MustSee(rank, key, IsLocal(rank) ? &local : &remote, number + rank);
    MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, IsLocal(rank) ? &remote : &local);
    // All of them, without what was not put.
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *all =
        MustGet(&peer, NULL, IsLocal(rank) ? &local : &remote, PMIX_DATA_ARRAY);
    const pmix_info_t *infos = all->data.darray->array;
    bool found = false;
    for (size_t i = 0; i < all->data.darray->size; ++i) {
      CHECK(strncmp(infos[i].key, "pmix", 4) != 0, "%s was not put",
            infos[i].key);
      found |= PMIX_CHECK_KEY(&infos[i], key);
    }
    CHECK(found, "no %s among all of rank %u", key, rank);
    PMIX_VALUE_RELEASE(all);
  }
}

// Without a fence of any kind: who asks waits for the commit.
static void DirectModex(void) {
  PutAll("direct", 100 + g_self.rank);
  CheckOwn("direct", 100 + g_self.rank);
  OK(PMIx_Commit());
  CheckPeers("direct", NULL, 100);
  Barrier();
  CheckPeers("direct", NULL, 100);
}

static void Collected(void) {
  PutAll("fence", 200 + g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  // It is all here already.
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "fence.global", &optional, 200 + rank);
    if (rank == g_self.rank) continue;
    const bool near = IsLocal(rank);
    MustSee(rank, near ? "fence.local" : "fence.remote", &optional, 200 + rank);
  }
  CheckPeers("fence", NULL, 200);
  CheckOwn("fence", 200 + g_self.rank);
  DataScope("fence", 200);
}

// What was not committed goes nowhere, whatever is fenced.
static void NotCommitted(void) {
  PutAll("staged", 300 + g_self.rank);
  FenceCollect();
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank == g_self.rank) continue;
    for (int scope = 0; scope < kCount; ++scope) {
      char key[64];
      KeyFor(key, "staged", scope);
      MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, &immediate);
      MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, &optional);
    }
  }
  CheckOwn("staged", 300 + g_self.rank);
  Barrier();
  OK(PMIx_Commit());
  FenceCollect();
  CheckPeers("staged", NULL, 300);
}

// A later put has the last word, on the value and on the scope.
static void Replaced(void) {
  PutAll("fence", 400 + g_self.rank);
  CheckOwn("fence", 400 + g_self.rank);
  OK(PMIx_Commit());
  OK(PMIx_Commit());  // with nothing staged
  FenceCollect();
  CheckPeers("fence", NULL, 400);
  PutU32(PMIX_LOCAL, "narrowed", 1);
  PutU32(PMIX_GLOBAL, "narrowed", 2);
  PutU32(PMIX_LOCAL, "narrowed", 3);
  PutU32(PMIX_LOCAL, "widened", 4);
  OK(PMIx_Commit());
  FenceCollect();
  PutU32(PMIX_GLOBAL, "widened", 5);
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "widened", NULL, 5);
    if (IsLocal(rank)) {
      MustSee(rank, "narrowed", NULL, 3);
    } else {
      MustNotSee(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, rank, "narrowed", NULL);
    }
  }
}

static void Arguments(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT32;
  char longest[PMIX_MAX_KEYLEN + 1];
  memset(longest, 'k', sizeof(longest));
  longest[PMIX_MAX_KEYLEN] = '\0';
  char over[PMIX_MAX_KEYLEN + 2];
  memset(over, 'k', sizeof(over));
  over[PMIX_MAX_KEYLEN + 1] = '\0';
  OK(PMIx_Put(PMIX_GLOBAL, longest, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, over, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "", &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, NULL, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "key", NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_SCOPE_UNDEF, "key", &value));
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(77, "key", &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "pmix.mine", &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, PMIX_JOB_SIZE, &value));
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, longest, NULL, 0);
  }
}

// The library copies: what the caller does to its value afterwards is its own.
static void Copied(void) {
  char text[] = "before";
  PutText(PMIX_GLOBAL, "copied", text);
  strcpy(text, "after!");
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    char *got = MustGetText(&peer, "copied", NULL);
    CHECK(strcmp(got, "before") == 0, "%s", got);
    free(got);
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  DirectModex();
  Collected();
  NotCommitted();
  Replaced();
  Arguments();
  Copied();
  Barrier();
  return Finish();
}
