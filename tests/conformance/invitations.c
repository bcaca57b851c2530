// PMIx_Group_invite and PMIx_Group_join, in both forms: GRP-21 to GRP-27, and
// GRP-30. Rank 0 invites the others.
#include "nonblocking.h"

enum { kMaxGroups = 16 };

typedef struct {
  char name[64];
  Signal invited;
  Signal complete;
  Signal selected;
  Signal failed;  // the failure of an invitation, or of the leader
  Signal declined;
  Signal aborted;
  pmix_proc_t source;  // of the latest event
  size_t context;      // from the event of completion
} Group;

static Group g_groups[kMaxGroups];
static int g_num_groups;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
// The group that the leader's handler allows to continue.
static const char *g_goes_on = "goes on";

static Group *Find(const char *name) {
  pthread_mutex_lock(&g_lock);
  int i = 0;
  while (i < g_num_groups && strcmp(g_groups[i].name, name) != 0) ++i;
  CHECK(i < kMaxGroups, "more groups than there is room for");
  if (i == g_num_groups) {
    const Signal never = SIGNAL_INIT;
    Group *group = &g_groups[g_num_groups++];
    snprintf(group->name, sizeof(group->name), "%s", name);
    group->invited = group->complete = group->selected = never;
    group->failed = group->declined = group->aborted = never;
  }
  pthread_mutex_unlock(&g_lock);
  return &g_groups[i];
}

static const pmix_info_t *FindIn(const pmix_info_t *infos, size_t count,
                                 const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i];
  }
  return NULL;
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  const pmix_info_t *name = FindIn(info, ninfo, PMIX_GROUP_ID);
  CHECK(name != NULL, "no group in the event %d", status);
  Group *group = Find(name->value.data.string);
  group->source = *source;
  const char *answer = NULL;
  switch (status) {
    case PMIX_GROUP_INVITED:
      Raise(&group->invited, status);
      break;
    case PMIX_GROUP_CONSTRUCT_COMPLETE: {
      CHECK(FindIn(info, ninfo, PMIX_GROUP_MEMBERSHIP) != NULL, "no members");
      const pmix_info_t *context = FindIn(info, ninfo, PMIX_GROUP_CONTEXT_ID);
      if (context != NULL) group->context = context->value.data.size;
      Raise(&group->complete, status);
      break;
    }
    case PMIX_GROUP_INVITE_DECLINED:
      if (strcmp(group->name, g_goes_on) == 0) answer = PMIX_GROUP_OPTIONAL;
      Raise(&group->declined, status);
      break;
    case PMIX_GROUP_CONSTRUCT_ABORT:
      Raise(&group->aborted, status);
      break;
    case PMIX_GROUP_INVITE_FAILED:
      Raise(&group->failed, status);
      break;
    case PMIX_GROUP_LEADER_FAILED:
      if (g_self.rank == 1) answer = PMIX_GROUP_LEADER;
      Raise(&group->failed, status);
      break;
    case PMIX_GROUP_LEADER_SELECTED:
      Raise(&group->selected, status);
      break;
    default:
      CHECK(false, "event %d", status);
  }
  if (answer == NULL) {
    cbfunc(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
    return;
  }
  Directives with = Flag(answer);
  cbfunc(PMIX_SUCCESS, with.info, with.count, NULL, NULL, cbdata);
}

static void Listen(void) {
  pmix_status_t codes[7] = {
      PMIX_GROUP_INVITED,         PMIX_GROUP_CONSTRUCT_COMPLETE,
      PMIX_GROUP_INVITE_DECLINED, PMIX_GROUP_INVITE_FAILED,
      PMIX_GROUP_LEADER_FAILED,   PMIX_GROUP_LEADER_SELECTED,
      PMIX_GROUP_CONSTRUCT_ABORT};
  CHECK(
      PMIx_Register_event_handler(codes, 7, NULL, 0, OnEvent, NULL, NULL) >= 0,
      "not registered");
}

static pmix_info_t *g_results;
static size_t g_nresults;

static void OnGroup(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                    void *call, pmix_release_cbfunc_t release, void *object) {
  (void)info, (void)ninfo;
  if (release != NULL) release(object);
  Answered(call, status);
}

// The members must be the ranks from `first` on.
static void ExpectMembers(uint32_t first, uint32_t count) {
  const pmix_info_t *members =
      FindIn(g_results, g_nresults, PMIX_GROUP_MEMBERSHIP);
  CHECK(members != NULL && members->value.type == PMIX_DATA_ARRAY,
        "no members");
  const pmix_data_array_t *array = members->value.data.darray;
  CHECK(array->type == PMIX_PROC && array->size == count, "%zu members",
        array->size);
  for (uint32_t i = 0; i < count; ++i) {
    const pmix_proc_t want = ProcOf(first + i);
    CHECK(PMIX_CHECK_PROCID(&((pmix_proc_t *)array->array)[i], &want),
          "member %u", i);
  }
}

static void FreeResults(void) {
  if (g_results != NULL) PMIX_INFO_FREE(g_results, g_nresults);
  g_results = NULL;
  g_nresults = 0;
}

static pmix_status_t Accept(const char *name, const pmix_proc_t *leader) {
  FreeResults();
  return PMIx_Group_join(name, leader, PMIX_GROUP_ACCEPT, NULL, 0, &g_results,
                         &g_nresults);
}

static void WrongArguments(void) {
  const pmix_proc_t other = ProcOf((g_self.rank + 1) % g_size);
  char name[PMIX_MAX_NSLEN + 2];
  memset(name, 'x', sizeof(name));
  name[sizeof(name) - 1] = '\0';
  const char *names[] = {NULL, "", name, g_self.nspace};
  for (int i = 0; i < 4; ++i) {
    EXPECT(PMIX_ERR_BAD_PARAM,
           PMIx_Group_invite(names[i], &other, 1, NULL, 0, NULL, NULL));
    EXPECT(PMIX_ERR_BAD_PARAM,
           PMIx_Group_join(names[i], &other, PMIX_GROUP_ACCEPT, NULL, 0, NULL,
                           NULL));
  }
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_invite("g", NULL, 0, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_join("g", NULL, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Group_join("g", &g_self, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Group_invite_nb, "g", NULL, 0, NULL, 0,
          OnGroup);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Group_join_nb, NULL, &other,
          PMIX_GROUP_ACCEPT, NULL, 0, OnGroup);
  // There is no invitation for this process.
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_Group_join_nb, "g", NULL, PMIX_GROUP_ACCEPT,
          NULL, 0, OnGroup);
  Directives unknown = {.count = 0};
  AddFlag(&unknown, "no.such.directive", true);
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Group_invite("g", &other, 1, unknown.info, 1, NULL, NULL));
  REFUSES(PMIX_ERR_NOT_SUPPORTED, PMIx_Group_join_nb, "g", &other,
          PMIX_GROUP_ACCEPT, unknown.info, 1, OnGroup);
  Barrier();
}

// Uses the group as any other group, and destructs it.
static void EndParty(const char *name) {
  const Directives limit = Timeout(60);
  OK(PMIx_Group_destruct(name, limit.info, limit.count));
}

// All ranks accept, with blocking and non-blocking calls (GRP-21, GRP-22,
// GRP-24, GRP-26).
static void AllAccept(void) {
  const pmix_proc_t leader = ProcOf(0);
  Group *party = Find("party");
  if (g_self.rank == 0) {
    Directives directives = Flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    AddFlag(&directives, PMIX_GROUP_NOTIFY_TERMINATION, true);
    AddInt(&directives, PMIX_TIMEOUT, 60);
    OK(PMIx_Group_invite("party", &g_job, 1, directives.info, directives.count,
                         &g_results, &g_nresults));
    EXPECT(PMIX_ERR_EXISTS,
           PMIx_Group_invite("party", &g_job, 1, NULL, 0, NULL, NULL));
  } else {
    EXPECT(PMIX_GROUP_INVITED, WaitFor(&party->invited, 1));
    CHECK(PMIX_CHECK_PROCID(&party->source, &leader), "by rank %u",
          party->source.rank);
    OK(Accept("party", &leader));
    EXPECT(PMIX_ERR_EXISTS, Accept("party", &leader));
  }
  // The leader is a member too, so it is notified.
  EXPECT(PMIX_GROUP_CONSTRUCT_COMPLETE, WaitFor(&party->complete, 1));
  Barrier();
  EndParty("party");
  // The other form of the calls has the same results.
  Group *more = Find("more");
  const Directives limit = Timeout(60);
  if (g_self.rank == 0) {
    ANSWERS(PMIX_SUCCESS, PMIx_Group_invite_nb, "more", &g_job, 1, limit.info,
            limit.count, OnGroup);
  } else {
    WaitFor(&more->invited, 1);
    ANSWERS(PMIX_SUCCESS, PMIx_Group_join_nb, "more", &leader,
            PMIX_GROUP_ACCEPT, limit.info, limit.count, OnGroup);
  }
  EndParty("more");
}

// Checks the results that all members receive.
static void Results(void) {
  const pmix_proc_t leader = ProcOf(0);
  FreeResults();
  Group *group = Find("results");
  if (g_self.rank == 0) {
    const Directives directives = Flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    OK(PMIx_Group_invite("results", &g_job, 1, directives.info, 1, &g_results,
                         &g_nresults));
  } else {
    WaitFor(&group->invited, 1);
    OK(Accept("results", &leader));
  }
  ExpectMembers(0, g_size);
  const pmix_info_t *context =
      FindIn(g_results, g_nresults, PMIX_GROUP_CONTEXT_ID);
  CHECK(context != NULL && context->value.type == PMIX_SIZE, "no context id");
  if (g_self.rank != 0) {
    WaitFor(&group->complete, 1);
    CHECK(group->context == context->value.data.size, "another context id");
  }
  EndParty("results");
  FreeResults();
}

// No call has a callback, and accepting processes do not name the leader. All
// learn that the group exists from the event about its construction.
static void WithoutCallbacks(void) {
  Group *group = Find("silent");
  if (g_self.rank == 0) {
    OK(PMIx_Group_invite_nb("silent", &g_job, 1, NULL, 0, NULL, NULL));
  } else {
    WaitFor(&group->invited, 1);
    OK(PMIx_Group_join_nb("silent", NULL, PMIX_GROUP_ACCEPT, NULL, 0, NULL,
                          NULL));
    EXPECT(PMIX_GROUP_CONSTRUCT_COMPLETE, WaitFor(&group->complete, 1));
  }
  Barrier();
  // The event may arrive at a process before the group exists there, so the
  // destruct is repeated.
  pmix_status_t status;
  do {
    status = PMIx_Group_destruct("silent", NULL, 0);
  } while (status == PMIX_ERR_NOT_FOUND);
  OK(status);
}

// Rank 0 invites the others without being a member. It is notified of the end
// of their construct. The members get the results as in any other group.
static void LeaderOutside(const char *name, bool one_declines) {
  const pmix_proc_t leader = ProcOf(0);
  const bool declines = one_declines && g_self.rank == g_size - 1;
  const uint32_t members = g_size - (one_declines ? 2 : 1);
  Group *group = Find(name);
  FreeResults();
  if (g_self.rank == 0) {
    pmix_proc_t others[128];
    for (uint32_t i = 1; i < g_size; ++i) others[i - 1] = ProcOf(i);
    Directives with = Flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    AddFlag(&with, PMIX_GROUP_OPTIONAL, one_declines);
    AddInt(&with, PMIX_TIMEOUT, 60);
    EXPECT(one_declines ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS,
           PMIx_Group_invite(name, others, g_size - 1, with.info, with.count,
                             &g_results, &g_nresults));
  } else {
    WaitFor(&group->invited, 1);
    if (declines) {
      OK(PMIx_Group_join(name, &leader, PMIX_GROUP_DECLINE, NULL, 0, NULL,
                         NULL));
    } else {
      OK(Accept(name, &leader));
    }
  }
  if (!declines) {
    ExpectMembers(1, members);
    CHECK(FindIn(g_results, g_nresults, PMIX_GROUP_CONTEXT_ID) != NULL,
          "no context id");
  }
  if (!declines && g_self.rank != 0) {
    EXPECT(PMIX_GROUP_CONSTRUCT_COMPLETE, WaitFor(&group->complete, 1));
    pmix_proc_t all;
    PMIX_PROC_LOAD(&all, name, PMIX_RANK_WILDCARD);
    OK(PMIx_Fence(&all, 1, NULL, 0));
    EndParty(name);
  } else {
    EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Group_destruct(name, NULL, 0));
  }
  Barrier();
}

// The last rank declines (GRP-23). The group is not constructed, unless the
// leader's directive or its handler allows that.
static void OneDeclines(const char *name, const char *directive, bool goes_on) {
  const pmix_proc_t leader = ProcOf(0);
  Group *group = Find(name);
  FreeResults();
  if (g_self.rank == 0) {
    const Directives with = Flag(directive);
    if (goes_on) {
      EXPECT(PMIX_ERR_PARTIAL_SUCCESS,
             PMIx_Group_invite(name, &g_job, 1, with.info, with.count,
                               &g_results, &g_nresults));
    } else {
      EXPECT(PMIX_GROUP_CONSTRUCT_ABORT,
             PMIx_Group_invite(name, &g_job, 1, with.info, with.count, NULL,
                               NULL));
    }
    CHECK(CountOf(&group->declined) == 1, "%d have declined",
          CountOf(&group->declined));
  } else {
    WaitFor(&group->invited, 1);
    if (g_self.rank == g_size - 1) {
      OK(PMIx_Group_join(name, &leader, PMIX_GROUP_DECLINE, NULL, 0, NULL,
                         NULL));
    } else {
      EXPECT(goes_on ? PMIX_SUCCESS : PMIX_GROUP_CONSTRUCT_ABORT,
             Accept(name, &leader));
    }
  }
  // The leader and the process that has declined are notified, too.
  if (!goes_on) {
    EXPECT(PMIX_GROUP_CONSTRUCT_ABORT, WaitFor(&group->aborted, 1));
  }
  if (goes_on && g_self.rank != g_size - 1) {
    ExpectMembers(0, g_size - 1);
    EndParty(name);
  }
  Barrier();
}

static void SomeDecline(void) {
  OneDeclines("optional", PMIX_GROUP_OPTIONAL, true);
  OneDeclines("adapts", PMIX_GROUP_FT_COLLECTIVE, true);
  OneDeclines("goes on", PMIX_GROUP_NOTIFY_TERMINATION, true);
  OneDeclines("aborts", PMIX_GROUP_NOTIFY_TERMINATION, false);
  // For a group that is no longer being constructed, the answer has no effect.
  if (g_self.rank == g_size - 1) {
    const pmix_proc_t leader = ProcOf(0);
    ANSWERS(PMIX_SUCCESS, PMIx_Group_join_nb, "aborts", &leader,
            PMIX_GROUP_DECLINE, NULL, 0, OnGroup);
  }
}

// An invited process that does not answer is awaited until the leader's time
// limit. A process that has accepted waits until its own time limit.
static void TimesOut(void) {
  const Directives limit = Timeout(1);
  const pmix_proc_t last = ProcOf(g_size - 1);
  if (g_self.rank == 0) {
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Group_invite("late", &last, 1, limit.info,
                                               limit.count, NULL, NULL));
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Group_invite_nb, "later", &last, 1,
            limit.info, limit.count, OnGroup);
    EXPECT(PMIX_ERR_TIMEOUT,
           PMIx_Group_join("nobody's", &last, PMIX_GROUP_ACCEPT, limit.info,
                           limit.count, NULL, NULL));
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Group_join_nb, "nobody's", &last,
            PMIX_GROUP_ACCEPT, limit.info, limit.count, OnGroup);
  }
  Barrier();
}

// An invited process ends, and then the leader: rank 1 offers to take its place
// (GRP-25).
static int SomeEnd(void) {
  const pmix_proc_t first = ProcOf(0);
  const pmix_proc_t last = ProcOf(g_size - 1);
  Group *left = Find("left");
  if (g_self.rank == g_size - 1) {
    WaitFor(&left->invited, 1);
    return Finish();
  }
  if (g_self.rank == 0) {
    EXPECT(PMIX_GROUP_CONSTRUCT_ABORT,
           PMIx_Group_invite("left", &last, 1, NULL, 0, NULL, NULL));
    EXPECT(PMIX_GROUP_INVITE_FAILED, WaitFor(&left->failed, 1));
    // This time the invited process has already ended.
    EXPECT(PMIX_GROUP_CONSTRUCT_ABORT,
           PMIx_Group_invite("gone", &last, 1, NULL, 0, NULL, NULL));
  }
  Group *led = Find("led");
  const uint32_t members = g_size - 2;
  if (g_self.rank == 0) {
    pmix_proc_t others[128];
    for (uint32_t i = 0; i < members; ++i) others[i] = ProcOf(i + 1);
    const pmix_status_t begun = PMIx_Group_invite_nb(
        "led", others, members, NULL, 0, OnGroup, NewCall());
    CHECK(begun == PMIX_SUCCESS, "not begun");
    OK(PMIx_Finalize(NULL, 0));
    return Kept();
  }
  WaitFor(&led->invited, 1);
  if (g_self.rank == 1 || g_self.rank + 1 < g_size - 1) {
    OK(Accept("led", &first));
  } else {
    EXPECT(PMIX_GROUP_LEADER_SELECTED, WaitFor(&led->selected, 1));
    CHECK(led->source.rank == 1, "rank %u leads", led->source.rank);
    OK(Accept("led", &led->source));
  }
  ExpectMembers(1, members);
  EndParty("led");
  return Finish();
}

int main(int argc, char **argv) {
  EXPECT(PMIX_ERR_INIT, PMIx_Group_invite("g", &g_job, 1, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT,
         PMIx_Group_join("g", &g_self, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL));
  Start(argc, argv);
  Listen();
  WrongArguments();
  AllAccept();
  Results();
  WithoutCallbacks();
  LeaderOutside("outside", false);
  LeaderOutside("outside, too", true);
  SomeDecline();
  TimesOut();
  CallsAnsweredOnce();
  return SomeEnd();
}
