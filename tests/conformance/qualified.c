// Several values of one key, distinguished by qualifiers: PMIX_QUALIFIED_VALUE
// of PMIx_Put, and infos of PMIx_Get that are marked as qualifiers. Also the
// data that the members of a group exchange in its construction, with the
// group's context id as qualifier.
#include "nonblocking.h"

static void AddQualifier(Directives *list, const char *key, uint32_t number) {
  AddU32(list, key, number);
  PMIX_INFO_SET_QUALIFIER(&list->info[list->count - 1]);
}

static Directives One(const char *key, uint32_t number) {
  Directives list = {.count = 0};
  AddQualifier(&list, key, number);
  return list;
}

static Directives Both(uint32_t color, uint32_t shape) {
  Directives list = One("color", color);
  AddQualifier(&list, "shape", shape);
  return list;
}

static pmix_status_t PutQualified(pmix_scope_t scope, const char *key,
                                  uint32_t number, const Directives *with) {
  Directives all = {.count = 0};
  AddU32(&all, key, number);
  for (size_t i = 0; i < with->count; ++i) {
    all.info[all.count++] = with->info[i];
  }
  pmix_data_array_t array = {PMIX_INFO, all.count, all.info};
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return PMIx_Put(scope, PMIX_QUALIFIED_VALUE, &value);
}

static void MustBe(uint32_t number, pmix_rank_t rank, const char *key,
                   const Directives *with) {
  const pmix_proc_t peer = ProcOf(rank);
  const uint32_t got = MustGetNumber(&peer, key, with, PMIX_UINT32);
  CHECK(got == number, "%s of rank %u is %u, not %u", key, rank, got, number);
}

static void MustMiss(pmix_rank_t rank, const char *key, Directives with) {
  const pmix_proc_t peer = ProcOf(rank);
  AddFlag(&with, PMIX_IMMEDIATE, true);
  MustFail(PMIX_ERR_NOT_FOUND, &peer, key, &with);
}

// Puts three values with qualifiers and one without.
static void PutAll(const char *key, uint32_t number) {
  Directives with = Both(1, 1);
  OK(PutQualified(PMIX_GLOBAL, key, number + 1, &with));
  with = Both(1, 2);
  OK(PutQualified(PMIX_GLOBAL, key, number + 2, &with));
  with = One("color", 2);
  OK(PutQualified(PMIX_GLOBAL, key, number + 3, &with));
  PutU32(PMIX_GLOBAL, key, number);
}

static void CheckRank(const char *key, pmix_rank_t rank, uint32_t number) {
  Directives with = Both(1, 1);
  MustBe(number + 1, rank, key, &with);
  with = Both(1, 2);
  MustBe(number + 2, rank, key, &with);
  with = One("color", 2);
  MustBe(number + 3, rank, key, &with);
  // A get may name fewer qualifiers, and in another order.
  with = One("shape", 2);
  MustBe(number + 2, rank, key, &with);
  AddQualifier(&with, "color", 1);
  MustBe(number + 2, rank, key, &with);
  MustBe(number, rank, key, NULL);
}

// No value has these qualifiers.
static void CheckNarrow(const char *key, pmix_rank_t rank) {
  MustMiss(rank, key, One("color", 3));
  MustMiss(rank, key, Both(2, 1));
  MustMiss(rank, key, One("size", 1));
  Directives other = {.count = 0};
  AddInt(&other, "color", 1);
  PMIX_INFO_SET_QUALIFIER(&other.info[0]);
  MustMiss(rank, key, other);
  MustMiss(rank, "another", One("color", 1));
}

static void CheckAll(const char *key, uint32_t number) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    CheckRank(key, rank, number + 10 * rank);
    CheckNarrow(key, rank);
  }
}

// The request waits for the commit.
static void DirectModex(void) {
  PutAll("direct", 100 + 10 * g_self.rank);
  CheckRank("direct", g_self.rank, 100 + 10 * g_self.rank);
  OK(PMIx_Commit());
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    CheckRank("direct", rank, 100 + 10 * rank);
  }
  Barrier();
  CheckAll("direct", 100);
}

static void Collected(void) {
  PutAll("fence", 1000 + 10 * g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  const pmix_proc_t peer = ProcOf((g_self.rank + 1) % g_size);
  Directives with = One("color", 2);
  AddFlag(&with, PMIX_OPTIONAL, true);
  CHECK(MustGetNumber(&peer, "fence", &with, PMIX_UINT32) ==
            1003 + 10 * peer.rank,
        "it is all here already");
  CheckAll("fence", 1000);
  Barrier();
  // A later put with the same qualifiers replaces only the value with these
  // qualifiers.
  with = Both(1, 1);
  OK(PutQualified(PMIX_GLOBAL, "fence", 7, &with));
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustBe(7, rank, "fence", &with);
    const Directives other = Both(1, 2);
    MustBe(1002 + 10 * rank, rank, "fence", &other);
  }
}

static void Scopes(void) {
  const Directives with = One("color", 1);
  OK(PutQualified(PMIX_REMOTE, "scoped", 1, &with));
  OK(PutQualified(PMIX_LOCAL, "scoped", 2, &with));
  OK(PutQualified(PMIX_INTERNAL, "kept", 3, &with));
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustBe(IsLocal(rank) ? 2 : 1, rank, "scoped", &with);
    if (rank != g_self.rank) MustMiss(rank, "kept", with);
  }
  MustBe(3, g_self.rank, "kept", &with);
}

// A non-blocking get receives a value that is committed later.
static void OnValue(pmix_status_t status, pmix_value_t *value, void *call) {
  CHECK(status != PMIX_SUCCESS || value->data.uint32 == 5, "%u",
        value->data.uint32);
  Answered(call, status);
}

static void Later(void) {
  const Directives with = Both(5, 5);
  const pmix_proc_t peer = ProcOf((g_self.rank + 1) % g_size);
  Directives early = One("color", 4);
  OK(PutQualified(PMIX_GLOBAL, "later", 4, &early));
  OK(PMIx_Commit());
  Barrier();
  BEGINS(PMIX_SUCCESS, call, PMIx_Get_nb, &peer, "later", with.info, with.count,
         OnValue);
  const Directives some = One("shape", 5);
  BEGINS(PMIX_SUCCESS, other, PMIx_Get_nb, &peer, "later", some.info,
         some.count, OnValue);
  Barrier();
  OK(PutQualified(PMIX_GLOBAL, "later", 5, &with));
  OK(PMIx_Commit());
  CHECK(Await(call) == PMIX_SUCCESS, "with all qualifiers");
  CHECK(Await(other) == PMIX_SUCCESS, "with some of them");
  Barrier();
}

// Among all data of a process, the values have the keys under which they were
// put.
static void Everything(void) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *all = MustGet(&peer, NULL, NULL, PMIX_DATA_ARRAY);
    const pmix_info_t *infos = all->data.darray->array;
    uint32_t found = 0;
    for (size_t i = 0; i < all->data.darray->size; ++i) {
      CHECK(infos[i].key[0] != '\001', "a name of the library's own");
      if (!PMIX_CHECK_KEY(&infos[i], PMIX_QUALIFIED_VALUE)) continue;
      const pmix_info_t *first = infos[i].value.data.darray->array;
      found += PMIX_CHECK_KEY(first, "fence") != 0;
    }
    CHECK(found == 3, "%u values of rank %u", found, rank);
    PMIX_VALUE_RELEASE(all);
  }
}

static void Refusals(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT32;
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, &value));
  const Directives with = One("color", 1);
  CHECK(PutQualified(PMIX_GLOBAL, "", 1, &with) == PMIX_ERR_BAD_PARAM,
        "no key");
  CHECK(
      PutQualified(PMIX_GLOBAL, PMIX_JOB_SIZE, 1, &with) == PMIX_ERR_BAD_PARAM,
      "a key of the host's");
  Directives unmarked = {.count = 0};
  AddU32(&unmarked, "color", 1);
  CHECK(PutQualified(PMIX_GLOBAL, "key", 1, &unmarked) == PMIX_ERR_BAD_PARAM,
        "a qualifier that is not marked");
  // The host's data has no qualifiers; marked directives remain directives.
  const pmix_proc_t job = {.rank = PMIX_RANK_WILDCARD};
  MustFail(PMIX_ERR_NOT_FOUND, &job, PMIX_JOB_SIZE, &with);
  Directives marked = Flag(PMIX_JOB_INFO);
  PMIX_INFO_SET_QUALIFIER(&marked.info[0]);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, &marked, PMIX_UINT32) == g_size,
        "size");
  MustFail(PMIX_ERR_NOT_SUPPORTED, &g_self, NULL, &with);
}

// Returns the context id in the results, which must have the data that each
// member has shared.
static size_t ContextIn(const pmix_info_t *results, size_t nresults) {
  size_t context = 0;
  uint32_t shared = 0;
  for (size_t i = 0; i < nresults; ++i) {
    if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) {
      context = results[i].value.data.size;
    } else if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_INFO)) {
      const pmix_info_t *who = results[i].value.data.darray->array;
      CHECK(PMIX_CHECK_KEY(who, PMIX_PROCID), "%s", who->key);
      ++shared;
    }
  }
  CHECK(context != 0 && shared == g_size, "%u members have shared", shared);
  return context;
}

static Directives LocalCid(size_t mine) {
  Directives list = {.count = 0};
  PMIX_INFO_LOAD(NextInfo(&list, PMIX_GROUP_LOCAL_CID), PMIX_GROUP_LOCAL_CID,
                 &mine, PMIX_SIZE);
  return list;
}

// Constructs a group to which each member contributes its local CID in an array
// of infos, as Open MPI does.
static size_t Construct(const char *group, size_t mine) {
  Directives own = LocalCid(mine);
  pmix_data_array_t array = {PMIX_INFO, own.count, own.info};
  Directives list = Flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  pmix_info_t *info = NextInfo(&list, PMIX_GROUP_INFO);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = &array;
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  OK(PMIx_Group_construct(group, &g_job, 1, list.info, list.count, &results,
                          &nresults));
  const size_t context = ContextIn(results, nresults);
  PMIX_INFO_FREE(results, nresults);
  return context;
}

static size_t g_context;

static void OnConstructed(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                          void *call, pmix_release_cbfunc_t release,
                          void *release_data) {
  if (status == PMIX_SUCCESS) g_context = ContextIn(info, ninfo);
  if (release != NULL) release(release_data);
  Answered(call, status);
}

// Does the same as Construct, with the non-blocking form and with the local CID
// outside of an array.
static size_t ConstructLater(const char *group, size_t mine) {
  Directives list = LocalCid(mine);
  PMIX_INFO_REQUIRED(&list.info[0]);
  AddFlag(&list, PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
  BEGINS(PMIX_SUCCESS, call, PMIx_Group_construct_nb, group, &g_job, 1,
         list.info, list.count, OnConstructed);
  CHECK(Await(call) == PMIX_SUCCESS, "the group was not constructed");
  return g_context;
}

static void CheckIds(size_t context, size_t first) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    Directives with = Timeout(60);
    pmix_info_t *id = NextInfo(&with, PMIX_GROUP_CONTEXT_ID);
    id->value.type = PMIX_SIZE;
    id->value.data.size = context;
    PMIX_INFO_SET_QUALIFIER(id);
    pmix_value_t *value =
        MustGet(&peer, PMIX_GROUP_LOCAL_CID, &with, PMIX_SIZE);
    CHECK(value->data.size == first + rank, "%zu of rank %u", value->data.size,
          rank);
    PMIX_VALUE_RELEASE(value);
    id->value.data.size = context + 1;
    MustFail(PMIX_ERR_NOT_FOUND, &peer, PMIX_GROUP_LOCAL_CID, &with);
    MustFail(PMIX_ERR_NOT_FOUND, &peer, PMIX_GROUP_LOCAL_CID, NULL);
  }
}

static void OfGroups(void) {
  const size_t one = Construct("one", 100 + g_self.rank);
  const size_t two = ConstructLater("two", 200 + g_self.rank);
  CheckIds(one, 100);
  CheckIds(two, 200);
  // The ids are read on demand, which may be after the group has ended.
  OK(PMIx_Group_destruct("one", NULL, 0));
  OK(PMIx_Group_destruct("two", NULL, 0));
  CheckIds(one, 100);
  Barrier();
}

// A process may also put PMIX_GROUP_LOCAL_CID itself, without a group.
static void LocalId(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_SIZE;
  value.data.size = 300 + g_self.rank;
  OK(PMIx_Put(PMIX_GLOBAL, PMIX_GROUP_LOCAL_CID, &value));
  OK(PMIx_Commit());
  Barrier();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *theirs =
        MustGet(&peer, PMIX_GROUP_LOCAL_CID, NULL, PMIX_SIZE);
    CHECK(theirs->data.size == 300 + rank, "%zu", theirs->data.size);
    PMIX_VALUE_RELEASE(theirs);
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  DirectModex();
  Collected();
  Scopes();
  Later();
  Everything();
  Refusals();
  OfGroups();
  LocalId();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
