// Scopes of PMIx_Put: which processes see data, by a fence that collects and by
// direct modex; PMIX_DATA_SCOPE; values of one key that were put with several
// scopes.
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

// Checks which data of a peer is visible, and with which status the other data
// is hidden.
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

// A process sees all its own data, committed or not.
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
  Directives global = Flag(PMIX_IMMEDIATE);
  AddScope(&global, PMIX_GLOBAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank == g_self.rank) continue;
    char key[64];
    KeyFor(key, round, kGlobal);
    MustSee(rank, key, &global, number + rank);
    MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, IsLocal(rank) ? &local : &remote);
    KeyFor(key, round, IsLocal(rank) ? kLocal : kRemote);
    MustSee(rank, key, IsLocal(rank) ? &local : &remote, number + rank);
    MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, IsLocal(rank) ? &remote : &local);
    MustNotSee(PMIX_ERR_NOT_FOUND, rank, key, &global);
    // Gets all values. Keys that are not visible must be absent.
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

// There is no fence: the request waits for the commit.
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
  // All data has arrived with the fence.
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

// Data that was not committed is not sent by any fence.
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

// A later put of the same scope replaces the value.
static void Replaced(void) {
  PutAll("fence", 400 + g_self.rank);
  CheckOwn("fence", 400 + g_self.rank);
  OK(PMIx_Commit());
  OK(PMIx_Commit());  // no data is staged
  FenceCollect();
  CheckPeers("fence", NULL, 400);
}

// Checks a key as the processes of this node and of other nodes see it.
static void CheckSides(const char *key, uint32_t near, uint32_t far) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, key, NULL, IsLocal(rank) ? near : far);
  }
}

static uint32_t OwnWith(pmix_scope_t scope, const char *key) {
  Directives with = {.count = 0};
  AddScope(&with, scope);
  return MustGetNumber(&g_self, key, &with, PMIX_UINT32);
}

// Puts one key with several scopes, as Open MPI puts the addresses of UCX. The
// values are independent, in whatever way they are exchanged.
static void SideBySide(void) {
  PutU32(PMIX_REMOTE, "sides", 1);
  PutU32(PMIX_LOCAL, "sides", 2);
  CHECK(OwnWith(PMIX_REMOTE, "sides") == 1, "the value for other nodes");
  CHECK(OwnWith(PMIX_LOCAL, "sides") == 2, "the value for this node");
  OK(PMIx_Commit());
  CheckSides("sides", 2, 1);
  PutU32(PMIX_LOCAL, "sides.fence", 3);
  PutU32(PMIX_REMOTE, "sides.fence", 4);
  OK(PMIx_Commit());
  FenceCollect();
  CheckSides("sides.fence", 3, 4);
  Barrier();
  // Changes one of the values alone.
  PutU32(PMIX_LOCAL, "sides.fence", 5);
  OK(PMIx_Commit());
  FenceCollect();
  CheckSides("sides.fence", 5, 4);
  Barrier();
}

// PMIX_GLOBAL applies to both sides: it replaces both values, and a later put
// for one side replaces it there.
static void GlobalBesideOthers(void) {
  PutU32(PMIX_LOCAL, "narrowed", 1);
  PutU32(PMIX_GLOBAL, "narrowed", 2);
  PutU32(PMIX_LOCAL, "narrowed", 3);
  PutU32(PMIX_LOCAL, "widened", 4);
  PutU32(PMIX_REMOTE, "widened", 5);
  CHECK(OwnWith(PMIX_GLOBAL, "narrowed") == 2, "the value for all");
  OK(PMIx_Commit());
  FenceCollect();
  CheckSides("narrowed", 3, 2);
  CheckSides("widened", 4, 5);
  Barrier();
  PutU32(PMIX_GLOBAL, "widened", 6);
  OK(PMIx_Commit());
  FenceCollect();
  CheckSides("widened", 6, 6);
  Directives global = Flag(PMIX_IMMEDIATE);
  AddScope(&global, PMIX_GLOBAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "widened", &global, 6);
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
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "\001key", &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, "pmix.mine", &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_GLOBAL, PMIX_JOB_SIZE, &value));
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, longest, NULL, 0);
  }
}

// The library copies the value, so the caller may change it afterwards.
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
  SideBySide();
  GlobalBesideOthers();
  Arguments();
  Copied();
  Barrier();
  return Finish();
}
