// Keys that are deleted by PMIX_DEL_GLOBAL, PMIX_DEL_LOCAL, PMIX_DEL_REMOTE and
// PMIX_DEL_INTERNAL. OpenPMIx defines these scopes, and the Standard does not.
#include "check.h"

static void PutOwn(const char *key, uint32_t number) {
  PutU32(PMIX_GLOBAL, key, number);
}

static void Delete(pmix_scope_t scope, const char *key) {
  OK(PMIx_Put(scope, key, NULL));
}

static void MustSee(pmix_rank_t rank, const char *key, uint32_t number) {
  const pmix_proc_t peer = ProcOf(rank);
  const uint32_t got = MustGetNumber(&peer, key, NULL, PMIX_UINT32);
  CHECK(got == number, "%s of rank %u is %u, not %u", key, rank, got, number);
}

// A get of a deleted key does not wait for the key to come back.
static void MustBeGone(pmix_rank_t rank, const char *key) {
  const pmix_proc_t peer = ProcOf(rank);
  MustFail(PMIX_ERR_NOT_FOUND, &peer, key, NULL);
}

static void CommitAndFence(void) {
  OK(PMIx_Commit());
  FenceCollect();
}

// Returns true if all data of a process contain the key.
static bool IsAmongAll(pmix_rank_t rank, const char *key) {
  const pmix_proc_t peer = ProcOf(rank);
  pmix_value_t *value = MustGet(&peer, NULL, NULL, PMIX_DATA_ARRAY);
  const pmix_info_t *infos = value->data.darray->array;
  bool found = false;
  for (size_t i = 0; i < value->data.darray->size; ++i) {
    found |= PMIX_CHECK_KEY(&infos[i], key);
  }
  PMIX_VALUE_RELEASE(value);
  return found;
}

// A process deletes one of its keys. On all nodes, that key of that process is
// gone, and all other keys remain.
static void Globally(void) {
  PutOwn("victim", g_self.rank);
  PutOwn("keeper", g_self.rank);
  CommitAndFence();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "victim", rank);
  }
  Barrier();
  if (g_self.rank == 0) {
    Delete(PMIX_DEL_GLOBAL, "victim");
    MustBeGone(0, "victim");
    OK(PMIx_Commit());
    MustBeGone(0, "victim");
  }
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "keeper", rank);
    if (rank > 0) MustSee(rank, "victim", rank);
    CHECK(IsAmongAll(rank, "victim") == (rank > 0), "all data of rank %u",
          rank);
  }
  MustBeGone(0, "victim");
  const pmix_proc_t any = ProcOf(PMIX_RANK_UNDEF);
  CHECK(g_size < 2 || MustGetNumber(&any, "victim", NULL, PMIX_UINT32) > 0,
        "the deleted key has an owner");
  Barrier();
}

static void PublishedAgain(void) {
  if (g_self.rank == 0) PutOwn("victim", 4242);
  CommitAndFence();
  MustSee(0, "victim", 4242);
  MustSee(0, "keeper", 0);
  Barrier();
  // In one commit, one key is deleted and put, and another is put and deleted.
  if (g_self.rank == 0) {
    Delete(PMIX_DEL_GLOBAL, "victim");
    PutOwn("victim", 4243);
    PutOwn("brief", 1);
    Delete(PMIX_DEL_GLOBAL, "brief");
  }
  CommitAndFence();
  MustSee(0, "victim", 4243);
  Directives now = Flag(PMIX_IMMEDIATE);
  const pmix_proc_t first = ProcOf(0);
  MustFail(PMIX_ERR_NOT_FOUND, &first, "brief", &now);
  Barrier();
}

// A key that is deleted for one side remains for the other.
static void OneSide(void) {
  PutOwn("sided", 7);
  PutOwn("other", 8);
  CommitAndFence();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) MustSee(rank, "sided", 7);
  Barrier();
  Delete(PMIX_DEL_LOCAL, "sided");
  Delete(PMIX_DEL_REMOTE, "other");
  CommitAndFence();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (rank == g_self.rank) continue;
    if (IsLocal(rank)) {
      MustBeGone(rank, "sided");
      MustSee(rank, "other", 8);
    } else {
      MustSee(rank, "sided", 7);
      MustBeGone(rank, "other");
    }
  }
  Barrier();
}

// There is no fence that collects data, so gets are sent to the agent of the
// process.
static void ByDirectModex(void) {
  PutOwn("direct", g_self.rank);
  OK(PMIx_Commit());
  Barrier();
  const pmix_rank_t next = (g_self.rank + 1) % g_size;
  MustSee(next, "direct", next);
  Barrier();
  Delete(PMIX_DEL_GLOBAL, "direct");
  OK(PMIx_Commit());
  Barrier();
  Directives refresh = Flag(PMIX_GET_REFRESH_CACHE);
  const pmix_proc_t peer = ProcOf(next);
  MustFail(PMIX_ERR_NOT_FOUND, &peer, "direct", &refresh);
  Barrier();
}

static void Internally(void) {
  PutU32(PMIX_INTERNAL, "mine", 3);
  MustSee(g_self.rank, "mine", 3);
  Delete(PMIX_DEL_GLOBAL, "mine");
  MustSee(g_self.rank, "mine", 3);
  Delete(PMIX_DEL_INTERNAL, "mine");
  Directives mine = Flag(PMIX_OPTIONAL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, "mine", &mine);
  Delete(PMIX_DEL_INTERNAL, "never");
  Delete(PMIX_DEL_LOCAL, "never");
}

static void Refused(void) {
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(PMIX_DEL_INTERNAL + 1, "key", NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_DEL_GLOBAL, PMIX_JOB_SIZE, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Put(PMIX_DEL_GLOBAL, "", NULL));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Refused();
  Globally();
  PublishedAgain();
  OneSide();
  ByDirectModex();
  Internally();
  Barrier();
  return Finish();
}
