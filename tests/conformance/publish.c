// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish in both forms: rejected calls,
// visibility, duplicates, ranges, persistence, permissions, waiting. The last
// rank leaves early.
#include <time.h>

#include "check.h"

enum { kMaxRanks = 64, kOneSecond = 1000000 };

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Returns "WORD.RANK". The memory is reused after eight calls.
static const char *KeyOf(const char *word, pmix_rank_t rank) {
  static char keys[8][64];
  static int next;
  next = (next + 1) % 8;
  snprintf(keys[next], sizeof(keys[next]), "%s.%u", word, rank);
  return keys[next];
}

static void AddRange(Directives *list, pmix_data_range_t range) {
  pmix_info_t *info = NextInfo(list, PMIX_RANGE);
  info->value.type = PMIX_DATA_RANGE;
  info->value.data.range = range;
}

static void AddPersistence(Directives *list, pmix_persistence_t persistence) {
  pmix_info_t *info = NextInfo(list, PMIX_PERSISTENCE);
  info->value.type = PMIX_PERSIST;
  info->value.data.persist = persistence;
}

static Directives Range(pmix_data_range_t range) {
  Directives list = {.count = 0};
  AddRange(&list, range);
  return list;
}

static Directives Wait(int count, int seconds) {
  Directives list = {.count = 0};
  AddInt(&list, PMIX_WAIT, count);
  AddInt(&list, PMIX_TIMEOUT, seconds);
  return list;
}

// Publishes the key with the number and the directives `with`.
static pmix_status_t Publish(const char *key, uint32_t number,
                             const Directives *with) {
  Directives list = {.count = 0};
  AddU32(&list, key, number);
  for (size_t i = 0; with != NULL && i < with->count; ++i) {
    list.info[list.count++] = with->info[i];
  }
  return PMIx_Publish(list.info, list.count);
}

static pmix_status_t Unpublish(const char *key) {
  char *keys[] = {(char *)key, NULL};
  return PMIx_Unpublish(keys, NULL, 0);
}

// ---------------------------------------------------------------- lookup ---

// The result of a lookup, filled by Lookup and by OnFound.
typedef struct {
  Signal done;
  size_t count;
  uint32_t numbers[kMaxRanks];
  pmix_proc_t procs[kMaxRanks];
  bool is_null;
} Found;

#define FOUND_INIT \
  { .done = SIGNAL_INIT }

static void Note(Found *found, const pmix_pdata_t *data) {
  CHECK(data->value.type == PMIX_UINT32, "%s has type %s", data->key,
        PMIx_Data_type_string(data->value.type));
  const size_t at = found->count++;
  found->numbers[at] = data->value.data.uint32;
  found->procs[at] = data->proc;
}

static void OnFound(pmix_status_t status, pmix_pdata_t data[], size_t ndata,
                    void *cbdata) {
  Found *found = cbdata;
  found->is_null = data == NULL;
  for (size_t i = 0; i < ndata; ++i) Note(found, &data[i]);
  Raise(&found->done, status);
}

// Looks up `n` keys; keys that are not found must be PMIX_UNDEF.
static pmix_status_t Lookup(const char *const *keys, size_t n,
                            const Directives *with, Found *found) {
  pmix_pdata_t *data;
  PMIX_PDATA_CREATE(data, n);
  for (size_t i = 0; i < n; ++i) PMIX_LOAD_KEY(data[i].key, keys[i]);
  const pmix_status_t status =
      PMIx_Lookup(data, n, with == NULL ? NULL : with->info,
                  with == NULL ? 0 : with->count);
  found->count = 0;
  for (size_t i = 0; i < n; ++i) {
    CHECK(strcmp(data[i].key, keys[i]) == 0, "key %s became %s", keys[i],
          data[i].key);
    if (data[i].value.type != PMIX_UNDEF) Note(found, &data[i]);
  }
  PMIX_PDATA_FREE(data, n);
  return status;
}

static pmix_status_t LookupOne(const char *key, const Directives *with) {
  Found found = FOUND_INIT;
  const pmix_status_t status = Lookup(&key, 1, with, &found);
  CHECK(found.count == (status == PMIX_SUCCESS ? 1 : 0), "%s and %zu values",
        PMIx_Error_string(status), found.count);
  return status;
}

// `rank` of this job must have published the key with this number.
static void MustFind(const char *key, const Directives *with, pmix_rank_t rank,
                     uint32_t number) {
  Found found = FOUND_INIT;
  OK(Lookup(&key, 1, with, &found));
  CHECK(found.count == 1 && found.numbers[0] == number, "%s is %u, not %u", key,
        found.numbers[0], number);
  CHECK(found.procs[0].rank == rank, "%s is of rank %u", key,
        found.procs[0].rank);
  CHECK(strcmp(found.procs[0].nspace, g_self.nspace) == 0, "%s is of job %s",
        key, found.procs[0].nspace);
}

static void MustNotFind(const char *key, const Directives *with) {
  EXPECT(PMIX_ERR_NOT_FOUND, LookupOne(key, with));
}

// ----------------------------------------------------------------- cases ---

static void WrongArguments(void) {
  Directives nameless = {.count = 0};
  AddU32(&nameless, "", 1);
  pmix_pdata_t wanted;
  PMIX_PDATA_CONSTRUCT(&wanted);
  char *none[] = {NULL};
  char *one[] = {(char *)"key", NULL};
  Signal done = SIGNAL_INIT;
  Found found = FOUND_INIT;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Publish(NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Publish(NULL, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Publish(nameless.info, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Publish_nb(NULL, 1, RaiseOp, &done));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Lookup(NULL, 1, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Lookup(&wanted, 0, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Lookup(&wanted, 1, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Lookup_nb(NULL, NULL, 0, OnFound, &found));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Lookup_nb(none, NULL, 0, OnFound, &found));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Unpublish(none, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Unpublish(one, NULL, 1));
  Barrier();
  CHECK(CountOf(&done) + CountOf(&found.done) == 0,
        "a call that was refused called back");
}

static void Unsupported(void) {
  Directives with = Flag(PMIX_ALL_CLONES_PARTICIPATE);
  OK(Publish(KeyOf("optional", g_self.rank), 1, &with));
  MustFind(KeyOf("optional", g_self.rank), &with, g_self.rank, 1);
  PMIX_INFO_REQUIRED(&with.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         Publish(KeyOf("required", g_self.rank), 1, &with));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         LookupOne(KeyOf("optional", g_self.rank), &with));
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(NULL, with.info, 1));
  MustNotFind(KeyOf("required", g_self.rank), NULL);
  MustFind(KeyOf("optional", g_self.rank), NULL, g_self.rank, 1);
  OK(Unpublish(KeyOf("optional", g_self.rank)));
  Barrier();
}

static void AllFindAll(void) {
  OK(Publish(KeyOf("plain", g_self.rank), 100 + g_self.rank, NULL));
  Barrier();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustFind(KeyOf("plain", rank), NULL, rank, 100 + rank);
  }
  char names[kMaxRanks][64];
  const char *keys[kMaxRanks];
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    snprintf(names[rank], sizeof(names[rank]), "plain.%u", rank);
    keys[rank] = names[rank];
  }
  Found found = FOUND_INIT;
  OK(Lookup(keys, g_size, NULL, &found));
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    CHECK(found.numbers[rank] == 100 + rank && found.procs[rank].rank == rank,
          "%s is %u of rank %u", keys[rank], found.numbers[rank],
          found.procs[rank].rank);
  }
  const char *some[] = {"nobody has it", KeyOf("plain", 0)};
  EXPECT(PMIX_ERR_PARTIAL_SUCCESS, Lookup(some, 2, NULL, &found));
  CHECK(found.count == 1 && found.numbers[0] == 100, "%zu values", found.count);
  MustNotFind("nobody has it", NULL);
}

static void NonBlocking(void) {
  Directives data = {.count = 0};
  AddU32(&data, KeyOf("nb", g_self.rank), g_self.rank);
  AddU32(&data, KeyOf("nb too", g_self.rank), 7);
  Signal done = SIGNAL_INIT;
  OK(PMIx_Publish_nb(data.info, data.count, RaiseOp, &done));
  OK(WaitFor(&done, 1));
  Barrier();
  const pmix_rank_t next = (g_self.rank + 1) % g_size;
  char *keys[] = {(char *)KeyOf("nb", next), (char *)KeyOf("nb too", next),
                  NULL};
  Found found = FOUND_INIT;
  OK(PMIx_Lookup_nb(keys, NULL, 0, OnFound, &found));
  OK(WaitFor(&found.done, 1));
  CHECK(found.count == 2, "%zu values", found.count);
  char *some[] = {(char *)KeyOf("nb", next), (char *)"nobody has it", NULL};
  Found part = FOUND_INIT;
  OK(PMIx_Lookup_nb(some, NULL, 0, OnFound, &part));
  EXPECT(PMIX_ERR_PARTIAL_SUCCESS, WaitFor(&part.done, 1));
  CHECK(part.count == 1 && part.numbers[0] == next, "%zu values", part.count);
  char *unknown[] = {(char *)"nobody has it", NULL};
  Found nothing = FOUND_INIT;
  OK(PMIx_Lookup_nb(unknown, NULL, 0, OnFound, &nothing));
  EXPECT(PMIX_ERR_NOT_FOUND, WaitFor(&nothing.done, 1));
  CHECK(nothing.is_null && nothing.count == 0, "%zu values", nothing.count);
  Barrier();
  char *mine[] = {(char *)KeyOf("nb", g_self.rank), NULL};
  OK(PMIx_Unpublish_nb(mine, NULL, 0, RaiseOp, &done));
  OK(WaitFor(&done, 2));
  MustNotFind(KeyOf("nb", g_self.rank), NULL);
  MustFind(KeyOf("nb too", g_self.rank), NULL, g_self.rank, 7);
  Barrier();
}

static void Duplicates(void) {
  const char *key = "one for all";
  const Directives narrow = Range(PMIX_RANGE_NAMESPACE);
  if (g_self.rank == 0) {
    OK(Publish(key, 1, NULL));
    EXPECT(PMIX_ERR_DUPLICATE_KEY, Publish(key, 2, NULL));
  }
  Barrier();
  EXPECT(PMIX_ERR_DUPLICATE_KEY, Publish(key, 3, NULL));
  MustFind(key, NULL, 0, 1);
  Barrier();
  // The key may be published on another range as well.
  if (g_self.rank == 0) {
    OK(Publish(key, 4, &narrow));
    EXPECT(PMIX_ERR_DUPLICATE_KEY, Publish(key, 5, &narrow));
    OK(Unpublish(key));
    OK(Publish(key, 6, NULL));
  }
  Barrier();
}

static void Ranges(void) {
  const Directives local = Range(PMIX_RANGE_LOCAL);
  const Directives own = Range(PMIX_RANGE_PROC_LOCAL);
  const Directives job = Range(PMIX_RANGE_NAMESPACE);
  const Directives global = Range(PMIX_RANGE_GLOBAL);
  const Directives manager = Range(PMIX_RANGE_RM);
  OK(Publish(KeyOf("local", g_self.rank), 1, &local));
  OK(Publish(KeyOf("own", g_self.rank), 2, &own));
  OK(Publish(KeyOf("job", g_self.rank), 3, &job));
  OK(Publish(KeyOf("global", g_self.rank), 4, &global));
  // No process could read the data.
  CHECK(Publish(KeyOf("manager", g_self.rank), 5, &manager) < 0,
        "published for nobody");
  Barrier();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustFind(KeyOf("job", rank), &job, rank, 3);
    MustFind(KeyOf("global", rank), &global, rank, 4);
    if (IsLocal(rank)) {
      MustFind(KeyOf("local", rank), &local, rank, 1);
    } else {
      MustNotFind(KeyOf("local", rank), NULL);
      MustNotFind(KeyOf("local", rank), &local);
    }
    if (rank == g_self.rank) {
      MustFind(KeyOf("own", rank), &own, rank, 2);
    } else {
      MustNotFind(KeyOf("own", rank), NULL);
      // With `own`, only data that the caller has published is found.
      MustNotFind(KeyOf("global", rank), &own);
    }
  }
  Barrier();
}

static Directives Custom(pmix_proc_t *procs, size_t count,
                         pmix_data_array_t *array) {
  const pmix_data_array_t named = {
      .type = PMIX_PROC, .size = count, .array = procs};
  *array = named;
  Directives list = Range(PMIX_RANGE_CUSTOM);
  pmix_info_t *info = NextInfo(&list, PMIX_EVENT_CUSTOM_RANGE);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = array;
  return list;
}

static pmix_status_t UnpublishOn(const char *key, const Directives *with) {
  char *keys[] = {(char *)key, NULL};
  return PMIx_Unpublish(keys, with->info, with->count);
}

// Rank 0 publishes for itself and the last rank. Both look up the data with the
// range of these two, and with the range of another process.
static void CustomRange(void) {
  const pmix_rank_t last = g_size - 1;
  const char *key = KeyOf("custom", 0);
  pmix_proc_t both[] = {ProcOf(0), ProcOf(last)};
  pmix_proc_t other[] = {ProcOf(1)};
  pmix_data_array_t arrays[2];
  const Directives members = Custom(both, 2, &arrays[0]);
  const Directives others = Custom(other, 1, &arrays[1]);
  if (g_self.rank == 0) OK(Publish(key, 6, &members));
  Barrier();
  if (g_self.rank == 0 || g_self.rank == last) {
    MustFind(key, NULL, 0, 6);
    MustFind(key, &members, 0, 6);
    MustNotFind(key, &others);
  } else {
    MustNotFind(key, NULL);
  }
  Barrier();
  if (g_self.rank == 0) OK(UnpublishOn(key, &members));
  Barrier();
  MustNotFind(key, NULL);
  // The range selects the publications to be withdrawn.
  const Directives local = Range(PMIX_RANGE_LOCAL);
  const Directives global = Range(PMIX_RANGE_GLOBAL);
  key = KeyOf("withdrawn", 0);
  if (g_self.rank == 0) {
    OK(Publish(key, 7, &global));
    (void)UnpublishOn(key, &local);
    MustFind(key, NULL, 0, 7);
    OK(UnpublishOn(key, &global));
    MustNotFind(key, NULL);
  }
  Barrier();
}

static uint32_t SumOf(const char *key, uint32_t mine) {
  PutU32(PMIX_GLOBAL, key, mine);
  OK(PMIx_Commit());
  FenceCollect();
  uint32_t sum = 0;
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t proc = ProcOf(rank);
    sum += MustGetNumber(&proc, key, NULL, PMIX_UINT32);
  }
  return sum;
}

static void FirstRead(void) {
  Directives once = {.count = 0};
  AddPersistence(&once, PMIX_PERSIST_FIRST_READ);
  if (g_self.rank == 0) OK(Publish("first read", 9, &once));
  Barrier();
  const pmix_status_t status = LookupOne("first read", NULL);
  CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND, "%s",
        PMIx_Error_string(status));
  const uint32_t readers = SumOf("readers", status == PMIX_SUCCESS ? 1 : 0);
  CHECK(readers == 1, "%u ranks have read it", readers);
  MustNotFind("first read", NULL);
  Barrier();
}

static void Permissions(void) {
  uint32_t uid = (uint32_t)getuid();
  uint32_t other = uid + 1;
  pmix_data_array_t uids = {.type = PMIX_UINT32, .size = 1, .array = &uid};
  pmix_info_t who;
  memset(&who, 0, sizeof(who));
  strcpy(who.key, PMIX_ACCESS_USERIDS);
  who.value.type = PMIX_DATA_ARRAY;
  who.value.data.darray = &uids;
  pmix_data_array_t all = {.type = PMIX_INFO, .size = 1, .array = &who};
  Directives with = {.count = 0};
  pmix_info_t *info = NextInfo(&with, PMIX_ACCESS_PERMISSIONS);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = &all;
  if (g_self.rank == 0) {
    OK(Publish("for me", 1, &with));
    uids.array = &other;
    OK(Publish("for others", 2, &with));
  }
  Barrier();
  MustFind("for me", NULL, 0, 1);
  if (g_self.rank != 0) {
    EXPECT(PMIX_ERR_NO_PERMISSIONS, LookupOne("for others", NULL));
    // If one key is found, the reason why the other is missing is not reported
    // (PUB-17).
    const char *both[] = {"for me", "for others"};
    Found found = FOUND_INIT;
    EXPECT(PMIX_ERR_PARTIAL_SUCCESS, Lookup(both, 2, NULL, &found));
    CHECK(found.count == 1, "%zu values", found.count);
  }
  Barrier();
}

static void Waiting(void) {
  const Directives all = Wait(0, 60);
  const char *keys[] = {"late", "later"};
  Found found = FOUND_INIT;
  if (g_self.rank == 0) {
    usleep(kOneSecond / 5);
    OK(Publish("late", 1, NULL));
    usleep(kOneSecond / 5);
    OK(Publish("later", 2, NULL));
  } else {
    OK(Lookup(keys, 2, &all, &found));
    CHECK(found.count == 2, "%zu values", found.count);
  }
  Barrier();
  // With Wait(1, ...), one of the two keys is sufficient.
  const Directives any = Wait(1, 60);
  const char *either[] = {"never", "late"};
  EXPECT(PMIX_ERR_PARTIAL_SUCCESS, Lookup(either, 2, &any, &found));
  const Directives soon = Wait(0, 1);
  const double begin = Seconds();
  EXPECT(PMIX_ERR_TIMEOUT, Lookup(either, 2, &soon, &found));
  CHECK(Seconds() - begin > 0.5, "after %.3f s", Seconds() - begin);
  Barrier();
}

// Data that is put and data that is published are separate.
static void Apart(void) {
  const pmix_proc_t root = ProcOf(0);
  const Directives now = Flag(PMIX_IMMEDIATE);
  MustFail(PMIX_ERR_NOT_FOUND, &root, "late", &now);
  if (g_self.rank == 0) {
    PutU32(PMIX_GLOBAL, "posted", 1);
    OK(PMIx_Commit());
  }
  FenceCollect();
  MustNotFind("posted", NULL);
}

static void Unpublished(void) {
  // Unpublishing keys of other processes has no effect, whatever the result is.
  (void)Unpublish(KeyOf("plain", (g_self.rank + 1) % g_size));
  Barrier();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustFind(KeyOf("plain", rank), NULL, rank, 100 + rank);
  }
  Barrier();
  OK(Unpublish(KeyOf("plain", g_self.rank)));
  Barrier();
  MustNotFind(KeyOf("plain", (g_self.rank + 1) % g_size), NULL);
  MustFind(KeyOf("global", g_self.rank), NULL, g_self.rank, 4);
  Barrier();
  // Without a range, all data on the session range is unpublished.
  OK(PMIx_Unpublish(NULL, NULL, 0));
  Barrier();
  MustNotFind(KeyOf("nb too", (g_self.rank + 1) % g_size), NULL);
  Barrier();
}

// The last rank leaves data of each persistence. Data kept for the session
// outlives the job, so its key contains the job's name.
static int OneLeaves(void) {
  const pmix_rank_t last = g_size - 1;
  char session[PMIX_MAX_NSLEN + 32];
  snprintf(session, sizeof(session), "of a session: %s", g_self.nspace);
  if (g_self.rank == last) {
    Directives with = {.count = 0};
    AddPersistence(&with, PMIX_PERSIST_PROC);
    OK(Publish("of a process", 1, &with));
    with.info[0].value.data.persist = PMIX_PERSIST_APP;
    OK(Publish("of an application", 2, &with));
    with.info[0].value.data.persist = PMIX_PERSIST_SESSION;
    OK(Publish(session, 3, &with));
    OK(Publish("of no persistence", 4, NULL));
    Barrier();
    return Finish();
  }
  Barrier();
  while (LookupOne("of a process", NULL) != PMIX_ERR_NOT_FOUND) {
    usleep(kOneSecond / 50);
  }
  MustFind("of an application", NULL, last, 2);
  // PUB-01: the default persistence is the application's.
  MustFind("of no persistence", NULL, last, 4);
  MustFind(session, NULL, last, 3);
  return Finish();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size >= 2 && g_size <= kMaxRanks, "needs 2 to 64 ranks");
  WrongArguments();
  Unsupported();
  AllFindAll();
  NonBlocking();
  Duplicates();
  Ranges();
  CustomRange();
  FirstRead();
  Permissions();
  Waiting();
  Apart();
  Unpublished();
  return OneLeaves();
}
