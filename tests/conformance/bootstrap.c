// PMIx_Group_construct where no process knows all members: GRP-09. The first
// rank and the middle one lead; each of them adds the ranks after it.
#include "nonblocking.h"

// Older headers lack this attribute.
#ifndef PMIX_GROUP_BOOTSTRAP
#define PMIX_GROUP_BOOTSTRAP "pmix.grp.btstrp"
#endif

static pmix_info_t *g_results;
static size_t g_nresults;

static void FreeResults(void) {
  if (g_results != NULL) PMIX_INFO_FREE(g_results, g_nresults);
  g_results = NULL;
  g_nresults = 0;
}

static void OnGroup(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                    void *call, pmix_release_cbfunc_t release, void *object) {
  (void)info, (void)ninfo;
  if (release != NULL) release(object);
  Answered(call, status);
}

static const pmix_info_t *FindResult(const char *key) {
  for (size_t i = 0; i < g_nresults; ++i) {
    if (PMIX_CHECK_KEY(&g_results[i], key)) return &g_results[i];
  }
  return NULL;
}

// The members must be the first `count` ranks.
static void ExpectMembers(uint32_t count) {
  const pmix_info_t *members = FindResult(PMIX_GROUP_MEMBERSHIP);
  CHECK(members != NULL && members->value.type == PMIX_DATA_ARRAY,
        "no members");
  const pmix_data_array_t *array = members->value.data.darray;
  CHECK(array->type == PMIX_PROC && array->size == count, "%zu members",
        array->size);
  for (uint32_t i = 0; i < count; ++i) {
    const pmix_proc_t want = ProcOf(i);
    CHECK(PMIX_CHECK_PROCID(&((pmix_proc_t *)array->array)[i], &want),
          "member %u", i);
  }
}

static void AddLeaders(Directives *list, size_t leaders) {
  pmix_info_t *info = NextInfo(list, PMIX_GROUP_BOOTSTRAP);
  info->value.type = PMIX_SIZE;
  info->value.data.size = leaders;
}

// Adds the ranks after `first` and before `end`.
static void AddMembers(Directives *list, uint32_t first, uint32_t end) {
  static pmix_proc_t procs[128];
  static pmix_data_array_t array;
  array.type = PMIX_PROC;
  array.array = procs;
  array.size = 0;
  for (uint32_t rank = first + 1; rank < end; ++rank) {
    procs[array.size++] = ProcOf(rank);
  }
  pmix_info_t *info = NextInfo(list, PMIX_GROUP_ADD_MEMBERS);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = &array;
}

static bool Leads(void) {
  return g_self.rank == 0 || g_self.rank == g_size / 2;
}

// Returns the directives of one of two leaders.
static Directives OfLeader(uint32_t end) {
  const bool is_first = g_self.rank == 0;
  Directives with = Timeout(60);
  AddLeaders(&with, 2);
  AddMembers(&with, g_self.rank, is_first ? g_size / 2 : end);
  if (is_first) AddFlag(&with, PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
  return with;
}

// Constructs a group of the first `end` ranks.
static pmix_status_t Construct(const char *name, uint32_t end) {
  FreeResults();
  if (!Leads()) {
    return PMIx_Group_construct(name, NULL, 0, NULL, 0, &g_results,
                                &g_nresults);
  }
  const Directives with = OfLeader(end);
  return PMIx_Group_construct(name, &g_self, 1, with.info, with.count,
                              &g_results, &g_nresults);
}

static void WrongArguments(void) {
  const pmix_proc_t other = ProcOf((g_self.rank + 1) % g_size);
  Directives none = {.count = 0};
  AddLeaders(&none, 0);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_construct("b", &g_self, 1, none.info,
                                                  none.count, NULL, NULL));
  Directives many = {.count = 0};
  AddLeaders(&many, 1 << 20);
  ANSWERS(PMIX_ERR_OUT_OF_RESOURCE, PMIx_Group_construct_nb, "b", &g_self, 1,
          many.info, many.count, OnGroup);
  Directives two = {.count = 0};
  AddLeaders(&two, 2);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_construct("b", &other, 1, two.info, two.count, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_construct("b", NULL, 0, two.info, two.count, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_construct("", NULL, 0, NULL, 0, NULL, NULL));
  AddText(&two, PMIX_GROUP_ADD_MEMBERS, "more");
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_construct("b", &g_self, 1, two.info,
                                                  two.count, NULL, NULL));
  Barrier();
}

// All members get the same results, whether they lead or are added, and the
// group works as any other. Its name is free afterwards.
static void TwoLead(const char *name) {
  if (g_self.rank % 3 == 2) usleep(200000);
  OK(Construct(name, g_size));
  ExpectMembers(g_size);
  const pmix_info_t *context = FindResult(PMIX_GROUP_CONTEXT_ID);
  CHECK(context != NULL && context->value.type == PMIX_SIZE, "no context id");
  pmix_value_t value = context->value;
  OK(PMIx_Put(PMIX_GLOBAL, name, &value));
  OK(PMIx_Commit());
  pmix_proc_t group;
  PMIX_PROC_LOAD(&group, name, PMIX_RANK_WILDCARD);
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  OK(PMIx_Fence(&group, 1, collect.info, collect.count));
  const pmix_proc_t first = ProcOf(0);
  pmix_value_t *theirs = MustGet(&first, name, NULL, PMIX_SIZE);
  CHECK(theirs->data.size == context->value.data.size, "another context id");
  PMIX_VALUE_RELEASE(theirs);
  EXPECT(PMIX_ERR_EXISTS, Construct(name, g_size));
  OK(PMIx_Group_destruct(name, NULL, 0));
}

static void NonBlocking(void) {
  if (Leads()) {
    const Directives with = OfLeader(g_size);
    ANSWERS(PMIX_SUCCESS, PMIx_Group_construct_nb, "nb", &g_self, 1, with.info,
            with.count, OnGroup);
  } else {
    ANSWERS(PMIX_SUCCESS, PMIx_Group_construct_nb, "nb", NULL, 0, NULL, 0,
            OnGroup);
  }
  OK(PMIx_Group_destruct("nb", NULL, 0));
}

// A leader that knows all other members adds them, and gives no number of
// leaders.
static void OneLeads(void) {
  FreeResults();
  if (g_self.rank == 0) {
    Directives with = Timeout(60);
    AddMembers(&with, 0, g_size);
    OK(PMIx_Group_construct("one", &g_self, 1, with.info, with.count,
                            &g_results, &g_nresults));
  } else {
    OK(PMIx_Group_construct("one", NULL, 0, NULL, 0, &g_results, &g_nresults));
  }
  ExpectMembers(g_size);
  OK(PMIx_Group_destruct("one", NULL, 0));
}

// A leader waits for the other leaders until its time limit, and so does a
// process that no leader adds. The name can be used afterwards.
static void TimesOut(void) {
  if (g_self.rank == 0) {
    Directives with = Timeout(1);
    AddLeaders(&with, 2);
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Group_construct("late", &g_self, 1, with.info,
                                                  with.count, NULL, NULL));
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Group_construct_nb, "late", &g_self, 1,
            with.info, with.count, OnGroup);
  } else if (g_self.rank == 1) {
    const Directives limit = Timeout(1);
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Group_construct("later", NULL, 0, limit.info,
                                                  limit.count, NULL, NULL));
  }
  Barrier();
  TwoLead("late");
  TwoLead("later");
}

// More leaders than announced are too many.
static void TooMany(void) {
  Directives with = Timeout(60);
  AddLeaders(&with, 1);
  AddMembers(&with, 0, 2);
  if (g_self.rank == 0) {
    BEGINS(PMIX_SUCCESS, first, PMIx_Group_construct_nb, "many", &g_self, 1,
           with.info, with.count, OnGroup);
    usleep(200000);
    Barrier();
    Barrier();
    OK(Await(first));
    OK(PMIx_Group_destruct("many", NULL, 0));
    return;
  }
  Barrier();
  if (g_self.rank == 2) {
    EXPECT(PMIX_ERR_EXISTS, PMIx_Group_construct("many", &g_self, 1, with.info,
                                                 with.count, NULL, NULL));
  }
  Barrier();
  if (g_self.rank != 1) return;
  OK(PMIx_Group_construct("many", NULL, 0, NULL, 0, NULL, NULL));
  OK(PMIx_Group_destruct("many", NULL, 0));
}

// An added member ends before it calls. All other processes learn that the
// group is not constructed, and may construct a smaller group.
static int OneEnds(void) {
  Barrier();
  if (g_self.rank == g_size - 1) return Finish();
  EXPECT(PMIX_GROUP_CONSTRUCT_ABORT, Construct("ends", g_size));
  OK(Construct("smaller", g_size - 1));
  ExpectMembers(g_size - 1);
  OK(PMIx_Group_destruct("smaller", NULL, 0));
  FreeResults();
  CallsAnsweredOnce();
  return Finish();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  WrongArguments();
  TwoLead("two");
  TwoLead("two");
  NonBlocking();
  OneLeads();
  TimesOut();
  TooMany();
  return OneEnds();
}
