// PMI-1: every function and the codes that it documents. Some of the ranks also
// request the same data from the PMIx library.
#include <pmi.h>

#include "pmi_codes.h"

enum { kRoom = 4096 };

static char g_name[256];
static int g_rank;

static void BeforeInit(void) {
  PMI_BOOL yes = PMI_TRUE;
  CODE(PMI_SUCCESS, PMI_Initialized(&yes));
  CHECK(yes == PMI_FALSE, "initialised before PMI_Init");
  int number = 0;
  CODE(PMI_ERR_INIT, PMI_Get_rank(&number));
  CODE(PMI_ERR_INIT, PMI_Barrier());
  CODE(PMI_ERR_INIT, PMI_KVS_Put("x", "key", "value"));
  CODE(PMI_ERR_INVALID_ARG, PMI_Init(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Initialized(NULL));
}

// PMI_Init fails with a rank that no process group has.
static void FailedInit(void) {
  int spawned = 7;
  char *rank = strdup(getenv("PMIX_RANK"));
  setenv("PMIX_RANK", "nonsense", 1);
  CODE(PMI_FAIL, PMI_Init(&spawned));
  setenv("PMIX_RANK", rank, 1);
  free(rank);
  PMI_BOOL yes = PMI_TRUE;
  CODE(PMI_SUCCESS, PMI_Initialized(&yes));
  CHECK(yes == PMI_FALSE, "initialised by a PMI_Init that failed");
}

static void Init(void) {
  int spawned = 7;
  CODE(PMI_SUCCESS, PMI_Init(&spawned));
  CHECK(spawned == PMI_FALSE, "spawned is %d", spawned);
  PMI_BOOL yes = PMI_FALSE;
  CODE(PMI_SUCCESS, PMI_Initialized(&yes));
  CHECK(yes == PMI_TRUE, "not initialised after PMI_Init");
  CODE(PMI_SUCCESS, PMI_Init(&spawned));
}

static void Group(void) {
  int number = -1;
  CODE(PMI_SUCCESS, PMI_Get_rank(&g_rank));
  g_self.rank = (pmix_rank_t)g_rank;
  CODE(PMI_SUCCESS, PMI_Get_size(&number));
  CHECK(number == (int)g_size, "size %d", number);
  CODE(PMI_SUCCESS, PMI_Get_universe_size(&number));
  CHECK(number >= 1, "universe of %d", number);
  CODE(PMI_SUCCESS, PMI_Get_appnum(&number));
  CHECK(number == 0, "application %d", number);
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_rank(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_size(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_universe_size(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_appnum(NULL));
}

static void Names(void) {
  int length = 0;
  CODE(PMI_SUCCESS, PMI_Get_id_length_max(&length));
  CHECK(length <= (int)sizeof(g_name), "a name may have %d characters", length);
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_id_length_max(NULL));
  CODE(PMI_SUCCESS, PMI_Get_id(g_name, sizeof(g_name)));
  char other[256];
  CODE(PMI_SUCCESS, PMI_Get_kvs_domain_id(other, sizeof(other)));
  CODE(PMI_SUCCESS, PMI_KVS_Get_my_name(other, sizeof(other)));
  CHECK(strcmp(other, g_name) == 0, "space %s of job %s", other, g_name);
  CODE(PMI_ERR_INVALID_LENGTH, PMI_Get_id(other, (int)strlen(g_name)));
  CODE(PMI_ERR_INVALID_LENGTH, PMI_Get_kvs_domain_id(other, 0));
  CODE(PMI_ERR_INVALID_LENGTH, PMI_KVS_Get_my_name(other, -1));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_id(NULL, 100));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_kvs_domain_id(NULL, 100));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Get_my_name(NULL, 100));
}

static void Clique(void) {
  int size = 0;
  CODE(PMI_SUCCESS, PMI_Get_clique_size(&size));
  CHECK(size >= 1 && size <= (int)g_size, "clique of %d", size);
  if (g_nodes == 1) CHECK(size == (int)g_size, "clique of %d", size);
  int *ranks = calloc((size_t)size, sizeof(int));
  CODE(PMI_SUCCESS, PMI_Get_clique_ranks(ranks, size));
  bool own = false;
  for (int i = 0; i < size; ++i) {
    own |= ranks[i] == g_rank;
    CHECK(i == 0 || ranks[i - 1] < ranks[i], "ranks are not in order");
  }
  CHECK(own, "rank is not in its clique");
  CODE(PMI_ERR_INVALID_LENGTH, PMI_Get_clique_ranks(ranks, size - 1));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_clique_ranks(NULL, size));
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_clique_size(NULL));
  free(ranks);
}

static void Limits(char *longest, int *key_length, int *value_length) {
  int length = 0;
  CODE(PMI_SUCCESS, PMI_KVS_Get_name_length_max(&length));
  CHECK(length > (int)strlen(g_name), "no room for the job's name");
  CODE(PMI_SUCCESS, PMI_KVS_Get_key_length_max(key_length));
  CODE(PMI_SUCCESS, PMI_KVS_Get_value_length_max(value_length));
  CHECK(*value_length <= kRoom, "values of %d", *value_length);
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Get_key_length_max(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Get_value_length_max(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Get_name_length_max(NULL));
  memset(longest, 'v', (size_t)*value_length - 1);
  longest[*value_length - 1] = '\0';
}

static void BadPuts(int key_length, char *longest) {
  char *key = calloc(1, (size_t)key_length + 1);
  memset(key, 'k', (size_t)key_length);
  CODE(PMI_ERR_INVALID_KEY_LENGTH, PMI_KVS_Put(g_name, key, "x"));
  CODE(PMI_ERR_INVALID_KVS, PMI_KVS_Put("no-such-space", "key", "x"));
  CODE(PMI_ERR_INVALID_KVS, PMI_KVS_Put(NULL, "key", "x"));
  CODE(PMI_ERR_INVALID_KEY, PMI_KVS_Put(g_name, NULL, "x"));
  CODE(PMI_ERR_INVALID_KEY, PMI_KVS_Put(g_name, "", "x"));
  CODE(PMI_ERR_INVALID_KEY, PMI_KVS_Put(g_name, "pmix.rank", "x"));
  CODE(PMI_ERR_INVALID_VAL, PMI_KVS_Put(g_name, "key", NULL));
  char *too_long = calloc(1, strlen(longest) + 2);
  memset(too_long, 'v', strlen(longest) + 1);
  CODE(PMI_ERR_INVALID_VAL_LENGTH, PMI_KVS_Put(g_name, "key", too_long));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Commit("no-such-space"));
  free(too_long);
  free(key);
}

static void MustFind(const char *space, const char *key, const char *want) {
  char value[kRoom];
  CODE(PMI_SUCCESS, PMI_KVS_Get(space, key, value, sizeof(value)));
  CHECK(strcmp(value, want) == 0, "%s is %s", key, value);
}

static void Exchange(void) {
  char longest[kRoom];
  int key_length = 0;
  int value_length = 0;
  Limits(longest, &key_length, &value_length);
  BadPuts(key_length, longest);
  char key[64];
  char value[64];
  snprintf(key, sizeof(key), "address-%d", g_rank);
  snprintf(value, sizeof(value), "here is %d", g_rank);
  CODE(PMI_SUCCESS, PMI_KVS_Put(g_name, key, value));
  snprintf(key, sizeof(key), "long-%d", g_rank);
  CODE(PMI_SUCCESS, PMI_KVS_Put(g_name, key, longest));
  CODE(PMI_SUCCESS, PMI_KVS_Commit(g_name));
  CODE(PMI_SUCCESS, PMI_Barrier());
  for (uint32_t r = 0; r < g_size; ++r) {
    snprintf(key, sizeof(key), "address-%u", r);
    snprintf(value, sizeof(value), "here is %u", r);
    MustFind(g_name, key, value);
    snprintf(key, sizeof(key), "long-%u", r);
    MustFind(g_name, key, longest);
  }
  char out[kRoom];
  CODE(PMI_FAIL, PMI_KVS_Get(g_name, "nobody-put-it", out, sizeof(out)));
  CODE(PMI_ERR_INVALID_LENGTH, PMI_KVS_Get(g_name, key, out, value_length - 1));
  CODE(PMI_ERR_INVALID_KVS, PMI_KVS_Get("other", key, out, sizeof(out)));
  CODE(PMI_ERR_INVALID_KEY, PMI_KVS_Get(g_name, NULL, out, sizeof(out)));
  CODE(PMI_ERR_INVALID_VAL, PMI_KVS_Get(g_name, key, NULL, sizeof(out)));
  CODE(PMI_SUCCESS,
       PMI_KVS_Get(g_name, "PMI_process_mapping", out, sizeof(out)));
  CHECK(strncmp(out, "(vector,", 8) == 0, "mapping is %s", out);
}

// The PMIx library of the process has the data that PMI put, and vice versa.
static void WithPmix(void) {
  pmix_proc_t self;
  OK(PMIx_Init(&self, NULL, 0));
  CHECK(self.rank == (pmix_rank_t)g_rank, "rank %u of PMIx", self.rank);
  CHECK(strcmp(self.nspace, g_name) == 0, "job %s of PMIx", self.nspace);
  pmix_proc_t next = self;
  next.rank = (self.rank + 1) % g_size;
  char key[64];
  char value[64];
  snprintf(key, sizeof(key), "address-%u", next.rank);
  snprintf(value, sizeof(value), "here is %u", next.rank);
  pmix_value_t *found = NULL;
  OK(PMIx_Get(&next, key, NULL, 0, &found));
  CHECK(found->type == PMIX_STRING, "%s is of type %u", key, found->type);
  CHECK(strcmp(found->data.string, value) == 0, "%s", found->data.string);
  PMIX_VALUE_RELEASE(found);
  pmix_value_t own;
  snprintf(key, sizeof(key), "from-pmix-%u", self.rank);
  PMIX_VALUE_LOAD(&own, "by PMIx", PMIX_STRING);
  OK(PMIx_Put(PMIX_GLOBAL, key, &own));
  PMIX_VALUE_DESTRUCT(&own);
  CODE(PMI_SUCCESS, PMI_KVS_Commit(g_name));
  CODE(PMI_SUCCESS, PMI_Barrier());
  snprintf(key, sizeof(key), "from-pmix-%u", next.rank);
  MustFind(g_name, key, "by PMIx");
  OK(PMIx_Finalize(NULL, 0));
}

static int CountPairs(const char *space) {
  char key[512];
  char value[kRoom];
  int count = 0;
  CODE(PMI_SUCCESS,
       PMI_KVS_Iter_first(space, key, sizeof(key), value, sizeof(value)));
  while (key[0] != '\0') {
    ++count;
    MustFind(space, key, value);
    CODE(PMI_SUCCESS,
         PMI_KVS_Iter_next(space, key, sizeof(key), value, sizeof(value)));
  }
  return count;
}

static void Walk(void) {
  const int want = 3 * (int)g_size;
  const int count = CountPairs(g_name);
  CHECK(count == want, "%d pairs, not %d", count, want);
  char key[512];
  char value[kRoom];
  CODE(PMI_ERR_INVALID_KVS,
       PMI_KVS_Iter_first("other", key, sizeof(key), value, sizeof(value)));
  CODE(PMI_ERR_INVALID_KEY_LENGTH,
       PMI_KVS_Iter_first(g_name, key, 2, value, sizeof(value)));
  CODE(PMI_ERR_INVALID_VAL_LENGTH,
       PMI_KVS_Iter_first(g_name, key, sizeof(key), value, 2));
  CODE(PMI_ERR_INVALID_KEY,
       PMI_KVS_Iter_first(g_name, NULL, 0, value, sizeof(value)));
  CODE(PMI_ERR_INVALID_VAL,
       PMI_KVS_Iter_first(g_name, key, sizeof(key), NULL, 0));
  CODE(PMI_ERR_INVALID_KEY, PMI_KVS_Iter_next(g_name, NULL, 0, value, 1));
  CODE(PMI_ERR_INVALID_VAL, PMI_KVS_Iter_next(g_name, key, 1, NULL, 1));
  CODE(PMI_ERR_INVALID_KVS,
       PMI_KVS_Iter_next("other", key, sizeof(key), value, sizeof(value)));
  CODE(PMI_SUCCESS,
       PMI_KVS_Iter_first(g_name, key, sizeof(key), value, sizeof(value)));
  CODE(PMI_ERR_INVALID_KEY_LENGTH,
       PMI_KVS_Iter_next(g_name, key, 2, value, sizeof(value)));
  CODE(PMI_ERR_INVALID_VAL_LENGTH,
       PMI_KVS_Iter_next(g_name, key, sizeof(key), value, 2));
}

// Rank 0 creates a space, whose name the other ranks read from the job's own
// space. The commits of rank 0 may be visible at once to a rank that still
// iterates over the job's space.
static void CreatedSpace(void) {
  char space[256] = "";
  CODE(PMI_SUCCESS, PMI_Barrier());
  if (g_rank == 0) {
    CODE(PMI_ERR_INVALID_LENGTH, PMI_KVS_Create(space, 3));
    CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Create(NULL, 100));
    CODE(PMI_SUCCESS, PMI_KVS_Create(space, sizeof(space)));
    CODE(PMI_SUCCESS, PMI_KVS_Put(g_name, "space", space));
    CODE(PMI_SUCCESS, PMI_KVS_Put(space, "address-0", "another one"));
    CODE(PMI_SUCCESS, PMI_KVS_Commit(g_name));
  }
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_KVS_Get(g_name, "space", space, sizeof(space)));
  MustFind(space, "address-0", "another one");
  MustFind(g_name, "address-0", "here is 0");
  CHECK(CountPairs(space) == 1, "the space has other pairs");
  CODE(PMI_SUCCESS, PMI_KVS_Destroy(space));
  CODE(PMI_ERR_INVALID_KVS, PMI_KVS_Put(space, "key", "x"));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Destroy(space));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Destroy(g_name));
  CODE(PMI_ERR_INVALID_ARG, PMI_KVS_Destroy(NULL));
}

static void Options(void) {
  char program[] = "run";
  char hint[] = "--pmi-host=a";
  char file[] = "file";
  char *array[] = {hint, program, file, NULL};
  char *((*argv)[]) = (char *((*)[])) & array;
  PMI_keyval_t *pairs = NULL;
  int size = 0;
  int parsed = 0;
  CODE(PMI_SUCCESS, PMI_Parse_option(3, array, &parsed, &pairs, &size));
  CHECK(parsed == 1 && size == 1, "%d parsed, %d pairs", parsed, size);
  CHECK(strcmp(pairs[0].key, "host") == 0, "%s", pairs[0].key);
  CHECK(strcmp(pairs[0].val, "a") == 0, "%s", pairs[0].val);
  CODE(PMI_SUCCESS, PMI_Free_keyvals(pairs, size));
  CODE(PMI_SUCCESS, PMI_Parse_option(2, array + 1, &parsed, &pairs, &size));
  CHECK(parsed == 0 && size == 0, "%d parsed", parsed);
  CODE(PMI_SUCCESS, PMI_Free_keyvals(pairs, size));
  int argc = 3;
  CODE(PMI_SUCCESS, PMI_Args_to_keyval(&argc, argv, &pairs, &size));
  CHECK(argc == 2 && size == 1 && array[0] == program, "%d left", argc);
  CODE(PMI_SUCCESS, PMI_Free_keyvals(pairs, size));
  CODE(PMI_ERR_INVALID_NUM_ARGS,
       PMI_Parse_option(0, array, &parsed, &pairs, &size));
  CODE(PMI_ERR_INVALID_ARGS, PMI_Parse_option(1, NULL, &parsed, &pairs, &size));
  CODE(PMI_ERR_INVALID_NUM_PARSED,
       PMI_Parse_option(1, array, NULL, &pairs, &size));
  CODE(PMI_ERR_INVALID_KEYVALP,
       PMI_Parse_option(1, array, &parsed, NULL, &size));
  CODE(PMI_ERR_INVALID_SIZE, PMI_Parse_option(1, array, &parsed, &pairs, NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Args_to_keyval(NULL, argv, &pairs, &size));
  CODE(PMI_ERR_INVALID_ARG, PMI_Free_keyvals(NULL, 1));
  char text[256];
  int length = sizeof(text);
  CODE(PMI_SUCCESS, PMI_Get_options(text, &length));
  CHECK(length == (int)strlen(text) + 1, "a text of %d", length);
  int little = length - 1;
  CODE(PMI_ERR_NOMEM, PMI_Get_options(text, &little));
  CHECK(little == length, "%d are said to be enough", little);
  CODE(PMI_ERR_INVALID_ARG, PMI_Get_options(NULL, &length));
  CODE(PMI_ERR_INVALID_LENGTH, PMI_Get_options(text, NULL));
  length = -1;
  CODE(PMI_ERR_INVALID_LENGTH, PMI_Get_options(text, &length));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  BeforeInit();
  FailedInit();
  Init();
  Group();
  Names();
  Clique();
  Exchange();
  if (g_rank % 2 == 0 || g_size < 2) Options();
  WithPmix();
  Walk();
  CreatedSpace();
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_Finalize());
  CODE(PMI_ERR_INIT, PMI_Finalize());
  printf("pmi1 ok %d\n", g_rank);
  return 0;
}
