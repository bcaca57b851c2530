// The ways in which PMIx_Get and PMIx_Get_nb return values: allocated, as
// pointers, in the caller's storage, all values of a process at once. Also the
// results of combined directives and wrong arguments.
#include "show.h"

static void PutOwn(void) {
  PutU32(PMIX_GLOBAL, "number", 10 + g_self.rank);
  PutText(PMIX_GLOBAL, "text", "as it was put");
  OK(PMIx_Commit());
  FenceCollect();
}

// ---------------------------------------------------------------- storage ---

static void Allocated(pmix_rank_t rank) {
  const pmix_proc_t peer = ProcOf(rank);
  pmix_value_t *first = MustGet(&peer, "number", NULL, PMIX_UINT32);
  pmix_value_t *second = MustGet(&peer, "number", NULL, PMIX_UINT32);
  CHECK(first != second, "two gets gave the same object");
  PMIX_VALUE_RELEASE(first);
  CHECK(second->data.uint32 == 10 + rank, "%u", second->data.uint32);
  PMIX_VALUE_RELEASE(second);
}

static void Pointers(pmix_rank_t rank, const char *key) {
  const pmix_proc_t peer = ProcOf(rank);
  const Directives pointers = Flag(PMIX_GET_POINTER_VALUES);
  pmix_value_t *first = NULL;
  pmix_value_t *again = NULL;
  OK(PMIx_Get(&peer, key, pointers.info, pointers.count, &first));
  char *before = TextOf(first);
  for (int i = 0; i < 1000; ++i) {
    OK(PMIx_Get(&peer, key, pointers.info, pointers.count, &again));
    CHECK(again->type == first->type, "another type");
  }
  char *after = TextOf(first);
  CHECK(strcmp(before, after) == 0, "%s became %s", before, after);
  free(before);
  free(after);
}

static void Static(pmix_rank_t rank, const char *key) {
  const pmix_proc_t peer = ProcOf(rank);
  const Directives fixed = Flag(PMIX_GET_STATIC_VALUES);
  pmix_value_t storage;
  PMIX_VALUE_CONSTRUCT(&storage);
  pmix_value_t *value = &storage;
  OK(PMIx_Get(&peer, key, fixed.info, fixed.count, &value));
  CHECK(value == &storage, "not in the caller's storage");
  pmix_value_t *want = NULL;
  OK(PMIx_Get(&peer, key, NULL, 0, &want));
  MustEqual(key, &storage, want);
  PMIX_VALUE_RELEASE(want);
  PMIX_VALUE_DESTRUCT(&storage);
  value = NULL;
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Get(&peer, key, fixed.info, fixed.count, &value));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Get(&peer, key, fixed.info, fixed.count, NULL));
}

static void Ways(void) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    Allocated(rank);
    Pointers(rank, "number");
    Pointers(rank, "text");
    Pointers(rank, PMIX_HOSTNAME);
    Static(rank, "number");
    Static(rank, "text");
    Static(rank, PMIX_HOSTNAME);
    Static(rank, PMIX_PROCID);
  }
  Pointers(PMIX_RANK_WILDCARD, PMIX_NODE_MAP);
  Pointers(PMIX_RANK_WILDCARD, PMIX_LOCAL_PROCS);
  Static(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  Static(PMIX_RANK_WILDCARD, PMIX_LOCAL_PROCS);
}

// ------------------------------------------------------------- everything ---

static const pmix_value_t *Find(const pmix_value_t *all, const char *key) {
  CHECK(all->type == PMIX_DATA_ARRAY, "type %s",
        PMIx_Data_type_string(all->type));
  CHECK(all->data.darray->type == PMIX_INFO, "array of %s",
        PMIx_Data_type_string(all->data.darray->type));
  const pmix_info_t *info = all->data.darray->array;
  for (size_t i = 0; i < all->data.darray->size; ++i) {
    if (strcmp(info[i].key, key) == 0) return &info[i].value;
  }
  return NULL;
}

static void Everything(void) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *all = MustGet(&peer, NULL, NULL, PMIX_DATA_ARRAY);
    const pmix_value_t *number = Find(all, "number");
    CHECK(number != NULL && number->data.uint32 == 10 + rank,
          "number of rank %u among all", rank);
    CHECK(Find(all, "text") != NULL, "no text of rank %u", rank);
    PMIX_VALUE_RELEASE(all);
  }
  pmix_value_t *own = MustGet(NULL, NULL, NULL, PMIX_DATA_ARRAY);
  CHECK(Find(own, "number")->data.uint32 == 10 + g_self.rank, "own number");
  PMIX_VALUE_RELEASE(own);
  pmix_value_t *job = MustGet(&g_job, NULL, NULL, PMIX_DATA_ARRAY);
  CHECK(Find(job, PMIX_JOB_SIZE) != NULL, "no job size in all of the job");
  PMIX_VALUE_RELEASE(job);
}

// --------------------------------------------------------- non-blocking ---

typedef struct {
  Signal done;
  pthread_t caller;
  volatile bool inside;
  const char *key;
  uint32_t number;
  char *text;
} Request;

static void OnValue(pmix_status_t status, pmix_value_t *value, void *cbdata) {
  Request *request = cbdata;
  CHECK(!(request->inside && pthread_equal(request->caller, pthread_self())),
        "called back before PMIx_Get_nb returned");
  if (status == PMIX_SUCCESS && value->type == PMIX_STRING) {
    request->text = strdup(value->data.string);
  } else if (status == PMIX_SUCCESS) {
    request->number = NumberOf(request->key, value);
  }
  Raise(&request->done, status);
}

static Request NewRequest(const char *key) {
  const Request request = {SIGNAL_INIT, pthread_self(), false, key, 0, NULL};
  return request;
}

static pmix_status_t Ask(Request *request, const pmix_proc_t *proc,
                         const Directives *with) {
  request->inside = true;
  const pmix_status_t status =
      PMIx_Get_nb(proc, request->key, with == NULL ? NULL : with->info,
                  with == NULL ? 0 : with->count, OnValue, request);
  request->inside = false;
  return status;
}

// An error is returned at once, without a callback, or passed to the callback.
static void MustFailLater(pmix_status_t want, const pmix_proc_t *proc,
                          const char *key, const Directives *with) {
  Request request = NewRequest(key);
  pmix_status_t status = Ask(&request, proc, with);
  if (status == PMIX_SUCCESS) {
    status = WaitFor(&request.done, 1);
  } else {
    Barrier();  // time for a callback that must not come
    CHECK(CountOf(&request.done) == 0, "failed and called back");
  }
  CHECK(status == want, "Get_nb of %s: %s, not %s", key,
        PMIx_Error_string(status), PMIx_Error_string(want));
}

static void NonBlocking(void) {
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    Request number = NewRequest("number");
    Request text = NewRequest("text");
    Request place = NewRequest(PMIX_LOCAL_RANK);
    const Directives pointers = Flag(PMIX_GET_POINTER_VALUES);
    OK(Ask(&number, &peer, NULL));
    OK(Ask(&text, &peer, &pointers));
    OK(Ask(&place, &peer, NULL));
    OK(WaitFor(&number.done, 1));
    OK(WaitFor(&text.done, 1));
    OK(WaitFor(&place.done, 1));
    CHECK(number.number == 10 + rank, "%u", number.number);
    CHECK(strcmp(text.text, "as it was put") == 0, "%s", text.text);
    free(text.text);
  }
  Request own = NewRequest("number");
  OK(Ask(&own, NULL, NULL));
  OK(WaitFor(&own.done, 1));
  CHECK(own.number == 10 + g_self.rank, "%u", own.number);
  const Directives fixed = Flag(PMIX_GET_STATIC_VALUES);
  const Directives optional = Flag(PMIX_OPTIONAL);
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  const Directives refresh = Flag(PMIX_GET_REFRESH_CACHE);
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  MustFailLater(PMIX_ERR_NOT_SUPPORTED, &next, "number", &fixed);
  MustFailLater(PMIX_ERR_NOT_FOUND, &next, "never", &optional);
  MustFailLater(PMIX_ERR_NOT_FOUND, &next, "never", &immediate);
  MustFailLater(PMIX_ERR_NOT_FOUND, &next, "never", &refresh);
  MustFailLater(PMIX_ERR_NOT_FOUND, NULL, "never", NULL);
  MustFailLater(PMIX_ERR_NOT_FOUND, &g_job, "pmix.no.such.key", NULL);
  Directives other = Flag(PMIX_SESSION_INFO);
  AddU32(&other, PMIX_SESSION_ID,
         1000 + MustGetNumber(&g_job, PMIX_SESSION_ID, NULL, PMIX_UINT32));
  MustFailLater(PMIX_ERR_NOT_FOUND, &g_job, PMIX_UNIV_SIZE, &other);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get_nb(&next, "number", NULL, 0, NULL, NULL));
}

// ------------------------------------------------------------- directives ---

static void Refusals(void) {
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  Directives unknown = Flag("canopy.test.unknown");
  CHECK(MustGetNumber(&next, "number", &unknown, PMIX_UINT32) == 10 + next.rank,
        "an unknown directive that is not required is in the way");
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  MustFail(PMIX_ERR_NOT_SUPPORTED, &next, "number", &unknown);
  Directives both = Flag(PMIX_GET_STATIC_VALUES);
  AddFlag(&both, PMIX_GET_POINTER_VALUES, true);
  MustFail(PMIX_ERR_BAD_PARAM, &next, "number", &both);
  Directives realms = Flag(PMIX_NODE_INFO);
  AddFlag(&realms, PMIX_JOB_INFO, true);
  MustFail(PMIX_ERR_BAD_PARAM, &g_job, PMIX_NUM_NODES, &realms);
  // A flag that is false counts as absent.
  Directives off = {.count = 0};
  AddFlag(&off, PMIX_OPTIONAL, false);
  AddFlag(&off, PMIX_SESSION_INFO, false);
  AddFlag(&off, PMIX_GET_STATIC_VALUES, false);
  CHECK(MustGetNumber(&g_job, PMIX_JOB_SIZE, &off, PMIX_UINT32) == g_size,
        "another value");
  pmix_value_t *value = NULL;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get(&next, "number", NULL, 1, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get(&next, "number", NULL, 0, NULL));
  char over[PMIX_MAX_KEYLEN + 2];
  memset(over, 'k', sizeof(over));
  over[PMIX_MAX_KEYLEN + 1] = '\0';
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get(&next, over, NULL, 0, &value));
}

// ---------------------------------------------------------- own cache ---

static void Internal(void) {
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  pmix_proc_t stranger;
  PMIX_PROC_LOAD(&stranger, "another-job", 4);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT32;
  value.data.uint32 = 1;
  OK(PMIx_Store_internal(&next, "kept", &value));
  OK(PMIx_Store_internal(&stranger, "kept", &value));
  value.data.uint32 = 2;
  OK(PMIx_Store_internal(&next, "kept", &value));
  OK(PMIx_Store_internal(&next, "pmix.reserved", &value));
  CHECK(MustGetNumber(&next, "kept", NULL, PMIX_UINT32) == 2, "another value");
  CHECK(MustGetNumber(&next, "pmix.reserved", NULL, PMIX_UINT32) == 2,
        "another value");
  CHECK(MustGetNumber(&stranger, "kept", NULL, PMIX_UINT32) == 1,
        "another value");
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(&next, NULL, &value));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Store_internal(&next, "kept", NULL));
  OK(PMIx_Commit());
  FenceCollect();
  // No other process sees the data, not even the process to which it belongs.
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, "kept", NULL);
  const pmix_proc_t far = ProcOf((g_self.rank + 2) % g_size);
  MustFail(PMIX_ERR_NOT_FOUND, &far, "kept", &immediate);
}

// A directive selects a realm. Keys of other realms have no value there.
static void OtherRealms(void) {
  const Directives session = Flag(PMIX_SESSION_INFO);
  const Directives app = Flag(PMIX_APP_INFO);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_JOB_SIZE, &session);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_HOSTNAME, &app);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  OtherRealms();
  PutOwn();
  Ways();
  Everything();
  NonBlocking();
  Refusals();
  Internal();
  Barrier();
  return Finish();
}
