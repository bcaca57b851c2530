// PMIx_Group_construct, PMIx_Group_destruct and PMIx_Group_leave, in both
// forms: GRP-05, GRP-07, GRP-08, GRP-10 to GRP-15, GRP-17 to GRP-20, GRP-28 and
// GRP-29.
#include "nonblocking.h"

static void OnGroup(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                    void *call, pmix_release_cbfunc_t release, void *object) {
  (void)info, (void)ninfo;
  if (release != NULL) release(object);
  Answered(call, status);
}

static const pmix_info_t *FindIn(const pmix_info_t *results, size_t count,
                                 const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], key)) return &results[i];
  }
  return NULL;
}

// The members must be the first `count` ranks.
static void ExpectMembers(const pmix_info_t *results, size_t nresults,
                          uint32_t count) {
  const pmix_info_t *members = FindIn(results, nresults, PMIX_GROUP_MEMBERSHIP);
  CHECK(members != NULL, "no members");
  CHECK(members->value.type == PMIX_DATA_ARRAY, "no array");
  const pmix_data_array_t *array = members->value.data.darray;
  CHECK(array->type == PMIX_PROC && array->size == count, "%zu members",
        array->size);
  const pmix_proc_t *procs = array->array;
  for (uint32_t i = 0; i < count; ++i) {
    const pmix_proc_t want = ProcOf(i);
    CHECK(PMIX_CHECK_PROCID(&procs[i], &want), "member %u", i);
  }
}

static void WrongArguments(void) {
  const pmix_proc_t other = ProcOf((g_self.rank + 1) % g_size);
  char name[PMIX_MAX_NSLEN + 2];
  memset(name, 'x', sizeof(name));
  name[sizeof(name) - 1] = '\0';
  const char *names[] = {NULL, "", name, g_self.nspace};
  for (int i = 0; i < 4; ++i) {
    EXPECT(PMIX_ERR_BAD_PARAM,
           PMIx_Group_construct(names[i], &g_job, 1, NULL, 0, NULL, NULL));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_destruct(names[i], NULL, 0));
    EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_leave(names[i], NULL, 0));
  }
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_construct("g", NULL, 1, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_construct("g", &other, 1, NULL, 0, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Group_construct_nb, "g", NULL, 1, NULL, 0,
          OnGroup);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Group_destruct_nb, NULL, NULL, 0,
          OnOperation);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Group_leave_nb, NULL, NULL, 0, OnOperation);
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_Group_leave_nb, "", NULL, 0, OnOperation);
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct("none", NULL, 0));
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_leave("none", NULL, 0));
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct_nb, "none", NULL, 0,
          OnOperation);
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Group_leave_nb, "none", NULL, 0,
          OnOperation);
  Barrier();
}

// Members that only some of several leaders know are not supported, and unknown
// required directives are rejected.
static void Unsupported(void) {
  Directives add = {.count = 0};
  AddText(&add, PMIX_GROUP_ADD_MEMBERS, "more");
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Group_construct_nb, "g", &g_job, 1,
          add.info, 1, OnGroup);
  Directives unknown = {.count = 0};
  AddU32(&unknown, "no.such.directive", 3);
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Group_construct("g", &g_job, 1, unknown.info, 1, NULL, NULL));
  Barrier();
}

// Lists in any order and wildcards give the same group (GRP-08). All members
// learn its members and its context id (GRP-14, GRP-18).
static void AllOfTheJob(void) {
  pmix_proc_t list[128];
  for (uint32_t i = 0; i < g_size; ++i) list[i] = ProcOf(g_size - 1 - i);
  Directives directives = Flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  AddFlag(&directives, PMIX_GROUP_LEADER, g_self.rank == 0);
  AddInt(&directives, PMIX_TIMEOUT, 60);
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  const bool listed = g_self.rank % 2 == 1;
  OK(PMIx_Group_construct("all", listed ? list : &g_job, listed ? g_size : 1,
                          directives.info, directives.count, &results,
                          &nresults));
  ExpectMembers(results, nresults, g_size);
  const pmix_info_t *name = FindIn(results, nresults, PMIX_GROUP_ID);
  CHECK(name != NULL && name->value.type == PMIX_STRING &&
            strcmp(name->value.data.string, "all") == 0,
        "no name");
  // The context id is the first result, as programs written for OpenPMIx 4.2
  // expect.
  const pmix_info_t *context = &results[0];
  CHECK(PMIX_CHECK_KEY(context, PMIX_GROUP_CONTEXT_ID) &&
            context->value.type == PMIX_SIZE,
        "the first result is %s", context->key);
  // All members have the same context id.
  pmix_value_t value = context->value;
  OK(PMIx_Put(PMIX_GLOBAL, "context", &value));
  OK(PMIx_Commit());
  Barrier();
  for (uint32_t i = 0; i < g_size; ++i) {
    const pmix_proc_t peer = ProcOf(i);
    pmix_value_t *theirs = MustGet(&peer, "context", NULL, PMIX_SIZE);
    CHECK(theirs->data.size == context->value.data.size,
          "another context id at rank %u", i);
    PMIX_VALUE_RELEASE(theirs);
  }
  const size_t first = context->value.data.size;
  PMIX_INFO_FREE(results, nresults);
  // A process may be in only one group of a name (GRP-05).
  EXPECT(PMIX_ERR_EXISTS,
         PMIx_Group_construct("all", &g_job, 1, NULL, 0, NULL, NULL));
  // Another group has another context id.
  OK(PMIx_Group_construct("more", &g_job, 1, directives.info, directives.count,
                          &results, &nresults));
  context = FindIn(results, nresults, PMIX_GROUP_CONTEXT_ID);
  CHECK(context != NULL && context->value.data.size != first,
        "the same context id");
  PMIX_INFO_FREE(results, nresults);
  const Directives limit = Timeout(60);
  OK(PMIx_Group_destruct("more", limit.info, limit.count));
  ANSWERS(PMIX_SUCCESS, PMIx_Group_destruct_nb, "all", limit.info, limit.count,
          OnOperation);
  // The name is free again (GRP-29).
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct("all", NULL, 0));
  ANSWERS(PMIX_SUCCESS, PMIx_Group_construct_nb, "all", &g_job, 1, NULL, 0,
          OnGroup);
  OK(PMIx_Group_destruct("all", NULL, 0));
}

// The name of a group stands for its members in calls of the members: the
// wildcard stands for all members, and a rank for the member at that position
// of the list (GRP-07).
static void StandsForItsMembers(void) {
  pmix_proc_t even[64];
  pmix_proc_t named[64];
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < g_size; rank += 2) {
    PMIX_LOAD_PROCID(&named[count], "even", count);
    even[count++] = ProcOf(rank);
  }
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, "even", PMIX_RANK_WILDCARD);
  if (g_self.rank % 2 != 0) {
    EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(&all, 1, NULL, 0));
    Barrier();
    return;
  }
  OK(PMIx_Group_construct("even", even, count, NULL, 0, NULL, NULL));
  PutU32(PMIX_GLOBAL, "of.group", g_self.rank);
  OK(PMIx_Commit());
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  OK(PMIx_Fence(&all, 1, collect.info, collect.count));
  for (uint32_t i = 0; i < count; ++i) {
    CHECK(MustGetNumber(&named[i], "of.group", NULL, PMIX_UINT32) == 2 * i,
          "member %u", i);
  }
  pmix_value_t *value = NULL;
  pmix_proc_t nobody = all;
  nobody.rank = count;
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Get(&nobody, "of.group", NULL, 0, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(&nobody, 1, NULL, 0));
  // All notations of a set denote the same set.
  if (g_self.rank == 0) {
    OK(PMIx_Connect(&all, 1, NULL, 0));
    OK(PMIx_Disconnect(even, count, NULL, 0));
  } else {
    OK(PMIx_Connect(named, count, NULL, 0));
    OK(PMIx_Disconnect(&all, 1, NULL, 0));
  }
  OK(PMIx_Group_construct("even2", &all, 1, NULL, 0, NULL, NULL));
  OK(PMIx_Group_destruct("even", NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(&all, 1, NULL, 0));
  OK(PMIx_Group_destruct("even2", NULL, 0));
  Barrier();
}

// All members receive the data that members share.
static void Shared(void) {
  Directives mine = {.count = 0};
  char text[32];
  snprintf(text, sizeof(text), "of rank %u", g_self.rank);
  pmix_info_t *endpoint = NextInfo(&mine, PMIX_GROUP_ENDPT_DATA);
  endpoint->value.type = PMIX_BYTE_OBJECT;
  endpoint->value.data.bo.bytes = text;
  endpoint->value.data.bo.size = strlen(text) + 1;
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  OK(PMIx_Group_construct("share", &g_job, 1, mine.info, mine.count, &results,
                          &nresults));
  uint32_t found = 0;
  for (size_t i = 0; i < nresults; ++i) {
    if (!PMIX_CHECK_KEY(&results[i], PMIX_GROUP_ENDPT_DATA)) continue;
    CHECK(results[i].value.type == PMIX_BYTE_OBJECT, "another type");
    CHECK(strncmp(results[i].value.data.bo.bytes, "of rank ", 8) == 0, "%s",
          results[i].value.data.bo.bytes);
    ++found;
  }
  CHECK(found == g_size, "data of %u members", found);
  PMIX_INFO_FREE(results, nresults);
  OK(PMIx_Group_destruct("share", NULL, 0));
}

// GRP-19: the data that a member has committed is at the agents of all members
// when the group exists, so no get waits. A member may decline to exchange the
// data.
static void DataOfMembers(void) {
  PutU32(PMIX_GLOBAL, "of.member", 100 + g_self.rank);
  OK(PMIx_Commit());
  Directives data = Flag(PMIX_COLLECT_DATA);
  AddFlag(&data, PMIX_COLLECT_GENERATED_JOB_INFO, true);
  OK(PMIx_Group_construct("data", &g_job, 1, data.info, data.count, NULL,
                          NULL));
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t member = ProcOf(rank);
    CHECK(MustGetNumber(&member, "of.member", &immediate, PMIX_UINT32) ==
              100 + rank,
          "of rank %u", rank);
  }
  OK(PMIx_Group_destruct("data", NULL, 0));
}

// Constructs several groups of different names at a time (GRP-10), including
// groups of one process.
static void Several(void) {
  char own[32];
  snprintf(own, sizeof(own), "own %u", g_self.rank);
  const Directives local = Flag(PMIX_GROUP_LOCAL_ONLY);
  OK(PMIx_Group_construct(own, &g_self, 1, local.info, local.count, NULL,
                          NULL));
  BEGINS(PMIX_SUCCESS, first, PMIx_Group_construct_nb, "first", &g_job, 1, NULL,
         0, OnGroup);
  {
    BEGINS(PMIX_SUCCESS, second, PMIx_Group_construct_nb, "second", &g_job, 1,
           NULL, 0, OnGroup);
    OK(Await(second));
  }
  OK(Await(first));
  OK(PMIx_Group_destruct(own, NULL, 0));
  OK(PMIx_Group_destruct("second", NULL, 0));
  OK(PMIx_Group_destruct("first", NULL, 0));
  if (g_nodes == 1) return;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_construct("g", &g_job, 1, local.info,
                                                  local.count, NULL, NULL));
  Barrier();
}

// A missing member is awaited until the time limit of the others.
static void TimesOut(void) {
  if (g_self.rank == 0) {
    const pmix_proc_t set[2] = {g_self, ProcOf(g_size - 1)};
    const Directives limit = Timeout(1);
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Group_construct("late", set, 2, limit.info,
                                                  limit.count, NULL, NULL));
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Group_construct_nb, "later", set, 2,
            limit.info, limit.count, OnGroup);
  }
  const Directives negative = Timeout(-1);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Group_construct("g", &g_job, 1, negative.info,
                                                  negative.count, NULL, NULL));
  Barrier();
  OK(PMIx_Group_construct("slow", &g_job, 1, NULL, 0, NULL, NULL));
  if (g_self.rank == 0) {
    const Directives limit = Timeout(1);
    EXPECT(PMIX_ERR_TIMEOUT,
           PMIx_Group_destruct("slow", limit.info, limit.count));
    Barrier();
  } else {
    Barrier();
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Group_destruct("slow", NULL, 0));
  }
}

static Signal g_left = SIGNAL_INIT;
static Signal g_failed = SIGNAL_INIT;

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  const pmix_info_t *group = FindIn(info, ninfo, PMIX_GROUP_ID);
  CHECK(group != NULL, "no group in the event");
  CHECK(strcmp(group->value.data.string, "leaving") == 0, "%s",
        group->value.data.string);
  CHECK(source->rank == g_size - 1, "of rank %u", source->rank);
  Raise(status == PMIX_GROUP_LEFT ? &g_left : &g_failed, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// A process that leaves is no longer a member, and the others are notified
// (GRP-28). The end of a member is also an event, if requested (GRP-15), and
// the destruct does not wait for that member (GRP-29).
static int LeaveAndEnd(void) {
  pmix_status_t codes[2] = {PMIX_GROUP_LEFT, PMIX_GROUP_MEMBER_FAILED};
  CHECK(
      PMIx_Register_event_handler(codes, 2, NULL, 0, OnEvent, NULL, NULL) >= 0,
      "not registered");
  Directives notify = Flag(PMIX_GROUP_NOTIFY_TERMINATION);
  OK(PMIx_Group_construct("leaving", &g_job, 1, notify.info, notify.count, NULL,
                          NULL));
  if (g_self.rank == g_size - 1) {
    OK(PMIx_Group_leave("leaving", NULL, 0));
    EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_leave("leaving", NULL, 0));
    EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct("leaving", NULL, 0));
  } else {
    EXPECT(PMIX_GROUP_LEFT, WaitFor(&g_left, 1));
    OK(PMIx_Group_destruct("leaving", NULL, 0));
  }
  Barrier();
  // Now the last rank ends instead of leaving.
  OK(PMIx_Group_construct("leaving", &g_job, 1, notify.info, notify.count, NULL,
                          NULL));
  if (g_self.rank == g_size - 1) return Finish();
  EXPECT(PMIX_GROUP_MEMBER_FAILED, WaitFor(&g_failed, 1));
  OK(PMIx_Group_destruct("leaving", NULL, 0));
  CHECK(CountOf(&g_left) == 1 && CountOf(&g_failed) == 1, "%d and %d events",
        CountOf(&g_left), CountOf(&g_failed));
  // A group of all ranks can no longer be constructed, unless it may continue
  // without the last rank (GRP-12, GRP-17).
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  EXPECT(PMIX_ERR_PROC_TERM_WO_SYNC,
         PMIx_Group_construct("whole", &g_job, 1, NULL, 0, NULL, NULL));
  Directives optional = Flag(PMIX_GROUP_OPTIONAL);
  EXPECT(PMIX_ERR_PARTIAL_SUCCESS,
         PMIx_Group_construct("some", &g_job, 1, optional.info, 1, &results,
                              &nresults));
  ExpectMembers(results, nresults, g_size - 1);
  PMIX_INFO_FREE(results, nresults);
  Directives adapts = Flag(PMIX_GROUP_FT_COLLECTIVE);
  OK(PMIx_Group_construct("adapted", &g_job, 1, adapts.info, 1, &results,
                          &nresults));
  ExpectMembers(results, nresults, g_size - 1);
  PMIX_INFO_FREE(results, nresults);
  OK(PMIx_Group_destruct("adapted", NULL, 0));
  OK(PMIx_Group_destruct("some", NULL, 0));
  return Finish();
}

int main(int argc, char **argv) {
  EXPECT(PMIX_ERR_INIT,
         PMIx_Group_construct("g", &g_job, 1, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Group_destruct("g", NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_Group_leave("g", NULL, 0));
  Start(argc, argv);
  WrongArguments();
  Unsupported();
  AllOfTheJob();
  StandsForItsMembers();
  Shared();
  DataOfMembers();
  Several();
  TimesOut();
  CallsAnsweredOnce();
  return LeaveAndEnd();
}
