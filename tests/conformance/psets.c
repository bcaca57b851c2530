// Process sets: their definition, the events, the results of Get and Query, and
// their end. The rules GRP-01 to GRP-04 are named beside their checks. Every
// process of the job is in the set that run.py has named kLaunched.
#include "children.h"

// Older headers lack this attribute.
#ifndef PMIX_JOB_CTRL_DEFINE_PSET
#define PMIX_JOB_CTRL_DEFINE_PSET "pmix.jctrl.defpset"
#endif

enum { kMaxEvents = 64, kMaxName = 2 * PMIX_MAX_NSLEN };

static const char kLaunched[] = "launched";

// The names contain the job's name: they belong to the whole overlay, on which
// other jobs will run later.
static char g_odd[kMaxName], g_whole[kMaxName], g_child[kMaxName];

// -------------------------------------------------------- what was heard ---

typedef struct {
  pmix_status_t code;
  char name[kMaxName];
  size_t num_members;
  pmix_proc_t first;
} Heard;

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static Heard g_heard[kMaxEvents];
static int g_num_heard;

static const pmix_info_t *FindInfo(const pmix_info_t *info, size_t ninfo,
                                   const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], key)) return &info[i];
  }
  return NULL;
}

static void AddMembers(const pmix_info_t *info, Heard *heard) {
  CHECK(info != NULL && info->value.type == PMIX_DATA_ARRAY, "no members");
  const pmix_data_array_t *array = info->value.data.darray;
  CHECK(array->type == PMIX_PROC && array->size > 0, "members of type %s",
        PMIx_Data_type_string(array->type));
  heard->num_members = array->size;
  heard->first = *(const pmix_proc_t *)array->array;
}

static void OnEvent(size_t id, pmix_status_t code, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  Heard heard = {.code = code};
  const pmix_info_t *name = FindInfo(info, ninfo, PMIX_PSET_NAME);
  CHECK(name != NULL && name->value.type == PMIX_STRING, "a set with no name");
  strncpy(heard.name, name->value.data.string, kMaxName - 1);
  if (code == PMIX_PROCESS_SET_DEFINE) {
    AddMembers(FindInfo(info, ninfo, PMIX_PSET_MEMBERS), &heard);
  }
  pthread_mutex_lock(&g_lock);
  CHECK(g_num_heard < kMaxEvents, "more events than there is room for");
  g_heard[g_num_heard++] = heard;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_lock);
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

// Stands for Open MPI's default handler, which ends the process on any event.
static void OnOther(size_t id, pmix_status_t code, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)info, (void)ninfo, (void)results,
      (void)nresults;
  CHECK(code != PMIX_PROCESS_SET_DEFINE && code != PMIX_PROCESS_SET_DELETE,
        "a default handler got %s", PMIx_Error_string(code));
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void Listen(void) {
  CHECK(PMIx_Register_event_handler(NULL, 0, NULL, 0, OnOther, NULL, NULL) >= 0,
        "no default handler");
  pmix_status_t codes[] = {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE};
  const pmix_status_t reference =
      PMIx_Register_event_handler(codes, 2, NULL, 0, OnEvent, NULL, NULL);
  CHECK(reference >= 0, "%s", PMIx_Error_string(reference));
}

static int CountHeard(pmix_status_t code, const char *name, Heard *last) {
  int count = 0;
  for (int i = 0; i < g_num_heard; ++i) {
    if (g_heard[i].code != code || strcmp(g_heard[i].name, name) != 0) continue;
    *last = g_heard[i];
    ++count;
  }
  return count;
}

static Heard AwaitEvent(pmix_status_t code, const char *name) {
  Heard heard;
  pthread_mutex_lock(&g_lock);
  while (CountHeard(code, name, &heard) == 0) {
    pthread_cond_wait(&g_changed, &g_lock);
  }
  pthread_mutex_unlock(&g_lock);
  return heard;
}

static void HeardOnce(pmix_status_t code, const char *name) {
  Heard heard;
  pthread_mutex_lock(&g_lock);
  const int count = CountHeard(code, name, &heard);
  pthread_mutex_unlock(&g_lock);
  CHECK(count == 1, "%s of %s came %d times", PMIx_Error_string(code), name,
        count);
}

// --------------------------------------------------------------- queries ---

// Returns the results for one key, which the caller frees.
static pmix_status_t Query(char *key, const char *set, pmix_info_t **results,
                           size_t *nresults) {
  char *keys[] = {key, NULL};
  Directives with = {.count = 0};
  if (set != NULL) AddText(&with, PMIX_PSET_NAME, set);
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  query.qualifiers = with.info;
  query.nqual = with.count;
  return PMIx_Query_info(&query, 1, results, nresults);
}

static bool HasName(const pmix_data_array_t *names, const char *want) {
  char *const *texts = names->array;
  for (size_t i = 0; i < names->size; ++i) {
    if (strcmp(texts[i], want) == 0) return true;
  }
  return false;
}

// GRP-04: the number of sets, and their names.
static bool IsKnown(const char *name) {
  pmix_info_t *number, *names;
  size_t nnumber = 0;
  size_t nnames = 0;
  OK(Query(PMIX_QUERY_NUM_PSETS, NULL, &number, &nnumber));
  OK(Query(PMIX_QUERY_PSET_NAMES, NULL, &names, &nnames));
  CHECK(nnumber == 1 && number->value.type == PMIX_SIZE, "no number");
  CHECK(nnames == 1 && names->value.type == PMIX_DATA_ARRAY, "no names");
  const pmix_data_array_t *array = names->value.data.darray;
  CHECK(array->type == PMIX_STRING, "names of type %s",
        PMIx_Data_type_string(array->type));
  CHECK(array->size == number->value.data.size, "%zu names of %zu sets",
        array->size, number->value.data.size);
  const bool known = HasName(array, name);
  PMIX_INFO_FREE(number, nnumber);
  PMIX_INFO_FREE(names, nnames);
  return known;
}

// GRP-04: the members of a set, which has `count` members from `first` on, each
// `step` ranks after its predecessor.
static void HasMembers(const char *name, size_t count, pmix_rank_t first,
                       pmix_rank_t step) {
  pmix_info_t *results;
  size_t nresults = 0;
  OK(Query(PMIX_QUERY_PSET_MEMBERSHIP, name, &results, &nresults));
  CHECK(nresults == 1 && results->value.type == PMIX_DATA_ARRAY, "no members");
  const pmix_data_array_t *array = results->value.data.darray;
  CHECK(array->type == PMIX_PROC && array->size == count, "%zu members of %s",
        array->size, name);
  const pmix_proc_t *procs = array->array;
  for (size_t i = 0; i < count; ++i) {
    const pmix_proc_t want = ProcOf(first + (pmix_rank_t)i * step);
    CHECK(PMIX_CHECK_PROCID(&procs[i], &want), "member %zu of %s is rank %u", i,
          name, procs[i].rank);
  }
  PMIX_INFO_FREE(results, nresults);
}

static void HasNoMembers(const char *name) {
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  EXPECT(PMIX_ERR_NOT_FOUND,
         Query(PMIX_QUERY_PSET_MEMBERSHIP, name, &results, &nresults));
}

// ----------------------------------------------------------------- rules ---

static pmix_status_t Define(const char *name, const pmix_proc_t *members,
                            size_t count) {
  Directives define = {.count = 0};
  AddText(&define, PMIX_JOB_CTRL_DEFINE_PSET, name);
  return PMIx_Job_control(members, count, define.info, define.count, NULL,
                          NULL);
}

// GRP-02: all processes are notified of a set with its members, including
// processes that are not in it.
static void Defined(void) {
  if (g_self.rank == 0) {
    pmix_proc_t odd[64];
    size_t count = 0;
    for (uint32_t i = 1; i < g_size; i += 2) odd[count++] = ProcOf(i);
    OK(Define(g_odd, odd, count));
    OK(Define(g_whole, &g_job, 1));
  }
  const Heard odd = AwaitEvent(PMIX_PROCESS_SET_DEFINE, g_odd);
  CHECK(odd.num_members == g_size / 2, "%zu odd ranks", odd.num_members);
  CHECK(odd.first.rank == 1, "the first is rank %u", odd.first.rank);
  const Heard whole = AwaitEvent(PMIX_PROCESS_SET_DEFINE, g_whole);
  CHECK(whole.num_members == g_size, "%zu ranks in all", whole.num_members);
  CHECK(IsKnown(g_odd) && IsKnown(g_whole), "sets without names");
  // GRP-03: each odd rank is in all three sets, under its own rank.
  HasMembers(g_odd, g_size / 2, 1, 2);
  HasMembers(g_whole, g_size, 0, 1);
  HasMembers(kLaunched, g_size, 0, 1);
  Barrier();
}

// GRP-01: a set stays as it was defined, also when another set of its name is
// requested. GRP-03: the name must not belong to a job or to another set.
static void Refused(void) {
  const pmix_proc_t nobody = ProcOf(g_size);
  char fresh[kMaxName];
  snprintf(fresh, sizeof(fresh), "fresh %u of %s", g_self.rank, g_self.nspace);
  EXPECT(PMIX_ERR_EXISTS, Define(g_odd, &g_self, 1));
  EXPECT(PMIX_ERR_EXISTS, Define(kLaunched, &g_self, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, Define(g_self.nspace, &g_self, 1));
  // These are names of a later job, and of a job that this node does not know.
  char later[kMaxName];
  snprintf(later, sizeof(later), "%s0", g_self.nspace);
  EXPECT(PMIX_ERR_BAD_PARAM, Define(later, &g_self, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, Define("", &g_self, 1));
  EXPECT(PMIX_ERR_NOT_FOUND, Define(fresh, &nobody, 1));
  HasMembers(g_odd, g_size / 2, 1, 2);
  HasNoMembers(fresh);
  CHECK(!IsKnown(fresh), "a set that was refused");
  Barrier();
}

// GRP-03: a set has no ranks of its own.
static void NoRanks(void) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_odd, 0);
  MustFail(PMIX_ERR_NOT_FOUND, &proc, PMIX_NODEID, NULL);
}

// GRP-04: the sets in which a process was started.
static void NamesByGet(void) {
  pmix_value_t *value =
      MustGet(&g_self, PMIX_PSET_NAMES, NULL, PMIX_DATA_ARRAY);
  const pmix_data_array_t *names = value->data.darray;
  CHECK(names->type == PMIX_STRING && names->size == 1, "%zu names",
        names->size);
  CHECK(HasName(names, kLaunched), "not started in %s", kLaunched);
  PMIX_VALUE_RELEASE(value);
}

// GRP-01, GRP-02: the set of a job's application ends with the job.
static void EndsWithItsJob(void) {
  if (g_self.rank == g_size - 1) {
    char *argv[2];
    pmix_app_t app = Program("/bin/true", argv);
    Directives set = {.count = 0};
    AddText(&set, PMIX_PSET_NAME, g_child);
    app.info = set.info;
    app.ninfo = set.count;
    char nspace[PMIX_MAX_NSLEN + 1];
    OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
  }
  const Heard child = AwaitEvent(PMIX_PROCESS_SET_DEFINE, g_child);
  CHECK(child.num_members == 1 && child.first.rank == 0, "%zu members",
        child.num_members);
  CHECK(strcmp(child.first.nspace, g_self.nspace) != 0, "of the parent");
  AwaitEvent(PMIX_PROCESS_SET_DELETE, g_child);
  CHECK(!IsKnown(g_child), "%s is still there", g_child);
  HasNoMembers(g_child);
  Barrier();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  snprintf(g_odd, sizeof(g_odd), "odd ranks of %s", g_self.nspace);
  snprintf(g_whole, sizeof(g_whole), "all of %s", g_self.nspace);
  snprintf(g_child, sizeof(g_child), "child of %s", g_self.nspace);
  Listen();
  Barrier();
  Defined();
  Refused();
  NoRanks();
  NamesByGet();
  EndsWithItsJob();
  const char *const names[] = {g_odd, g_whole, g_child};
  for (int i = 0; i < 3; ++i) HeardOnce(PMIX_PROCESS_SET_DEFINE, names[i]);
  return Finish();
}
