// PMI-2: every function and the codes that it documents.
#include <pmi2.h>

#include "pmi_codes.h"

static char g_name[256];
static int g_rank;

static void Init(void) {
  CHECK(!PMI2_Initialized(), "initialised before PMI2_Init");
  CODE(PMI2_ERR_INIT, PMI2_KVS_Fence());
  CODE(PMI2_ERR_INIT, PMI2_KVS_Put("key", "value"));
  int spawned = 7;
  int size = 0;
  int appnum = 7;
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Init(NULL, &size, &g_rank, &appnum));
  CODE(PMI2_SUCCESS, PMI2_Init(&spawned, &size, &g_rank, &appnum));
  CHECK(PMI2_Initialized(), "not initialised after PMI2_Init");
  CHECK(spawned == 0 && appnum == 0, "spawned %d, application %d", spawned,
        appnum);
  CHECK(size == (int)g_size, "size %d", size);
  g_self.rank = (pmix_rank_t)g_rank;
}

static void Job(void) {
  int number = -1;
  CODE(PMI2_SUCCESS, PMI2_Job_GetRank(&number));
  CHECK(number == g_rank, "rank %d", number);
  CODE(PMI2_SUCCESS, PMI2_Info_GetSize(&number));
  CHECK(number == (int)g_size, "size %d", number);
  CODE(PMI2_SUCCESS, PMI2_Job_GetId(g_name, sizeof(g_name)));
  char other[256];
  CODE(PMI2_ERR_INVALID_LENGTH, PMI2_Job_GetId(other, (int)strlen(g_name)));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Job_GetId(NULL, 10));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Job_GetRank(NULL));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Info_GetSize(NULL));
}

static void MustFind(int hint, const char *key, const char *want) {
  char value[PMI2_MAX_VALLEN];
  int length = 0;
  CODE(PMI2_SUCCESS,
       PMI2_KVS_Get(g_name, hint, key, value, sizeof(value), &length));
  CHECK(strcmp(value, want) == 0, "%s is %s", key, value);
  CHECK(length == (int)strlen(want), "%s has length %d", key, length);
}

static void BadPuts(void) {
  char text[PMI2_MAX_VALLEN + 1];
  memset(text, 'x', PMI2_MAX_VALLEN);
  text[PMI2_MAX_VALLEN] = '\0';
  CODE(PMI2_ERR_INVALID_VAL_LENGTH, PMI2_KVS_Put("key", text));
  text[PMI2_MAX_KEYLEN] = '\0';
  CODE(PMI2_ERR_INVALID_KEY_LENGTH, PMI2_KVS_Put(text, "value"));
  CODE(PMI2_ERR_INVALID_KEY, PMI2_KVS_Put(NULL, "value"));
  CODE(PMI2_ERR_INVALID_KEY, PMI2_KVS_Put("", "value"));
  CODE(PMI2_ERR_INVALID_KEY, PMI2_KVS_Put("pmix.rank", "value"));
  CODE(PMI2_ERR_INVALID_VAL, PMI2_KVS_Put("key", NULL));
}

static void Exchange(void) {
  BadPuts();
  char key[PMI2_MAX_KEYLEN];
  char value[64];
  snprintf(key, sizeof(key), "address-%d", g_rank);
  snprintf(value, sizeof(value), "here is %d", g_rank);
  CODE(PMI2_SUCCESS, PMI2_KVS_Put(key, value));
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  for (uint32_t r = 0; r < g_size; ++r) {
    snprintf(key, sizeof(key), "address-%u", r);
    snprintf(value, sizeof(value), "here is %u", r);
    MustFind((int)r, key, value);
    MustFind(PMI2_ID_NULL, key, value);
    MustFind((int)((r + 1) % g_size), key, value);
  }
  char little[4];
  int length = 0;
  CODE(PMI2_SUCCESS,
       PMI2_KVS_Get(NULL, 0, "address-0", little, sizeof(little), &length));
  CHECK(length == -9 && strcmp(little, "her") == 0, "%d, %s", length, little);
  CODE(PMI2_FAIL,
       PMI2_KVS_Get(NULL, 0, "nobody-put-it", little, sizeof(little), &length));
  CODE(PMI2_ERR_INVALID_KEY,
       PMI2_KVS_Get(NULL, 0, NULL, little, sizeof(little), &length));
  CODE(PMI2_ERR_INVALID_ARG,
       PMI2_KVS_Get(NULL, 0, "address-0", little, 0, &length));
  CODE(PMI2_ERR_INVALID_ARG,
       PMI2_KVS_Get(NULL, 0, "address-0", NULL, 10, &length));
}

static void JobAttributes(void) {
  char value[PMI2_MAX_ATTRVALUE];
  int found = 0;
  CODE(PMI2_SUCCESS, PMI2_Info_GetJobAttr("PMI_process_mapping", value,
                                          sizeof(value), &found));
  CHECK(found && strncmp(value, "(vector,", 8) == 0, "mapping is %s", value);
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetJobAttr("universeSize", value, sizeof(value), &found));
  CHECK(found && atoi(value) >= 1, "universe of %s", value);
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetJobAttr("colour", value, sizeof(value), &found));
  CHECK(!found, "the job has a colour: %s", value);
  CODE(PMI2_ERR_INVALID_VAL_LENGTH,
       PMI2_Info_GetJobAttr("PMI_process_mapping", value, 3, &found));
  CODE(PMI2_ERR_INVALID_ARG,
       PMI2_Info_GetJobAttr(NULL, value, sizeof(value), &found));
  int array[4];
  int count = 7;
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetJobAttrIntArray("physTopology", array, 4, &count, &found));
  CHECK(!found && count == 0, "an array of %d", count);
}

static int LocalRanks(int *ranks) {
  int count = 0;
  int found = 0;
  CODE(PMI2_SUCCESS, PMI2_Info_GetNodeAttrIntArray("localRanksCount", ranks, 1,
                                                   &count, &found));
  CHECK(found && count == 1, "an array of %d", count);
  const int size = ranks[0];
  CODE(PMI2_SUCCESS, PMI2_Info_GetNodeAttrIntArray(
                         "localRanks", ranks, (int)g_size, &count, &found));
  CHECK(found && count == size, "%d ranks of %d", count, size);
  return size;
}

// The lowest rank of a node sets an attribute for which the other ranks of the
// node wait.
static void NodeAttributes(void) {
  int *ranks = calloc(g_size, sizeof(int));
  LocalRanks(ranks);
  const int first = ranks[0];
  free(ranks);
  char value[PMI2_MAX_ATTRVALUE];
  char want[64];
  int found = 7;
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetNodeAttr("nobody", value, sizeof(value), &found, 0));
  CHECK(!found, "nobody is %s", value);
  snprintf(want, sizeof(want), "of rank %d", first);
  if (g_rank == first) CODE(PMI2_SUCCESS, PMI2_Info_PutNodeAttr("pool", want));
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetNodeAttr("pool", value, sizeof(value), &found, 1));
  CHECK(found && strcmp(value, want) == 0, "pool is %s, not %s", value, want);
  CODE(PMI2_ERR_INVALID_KEY, PMI2_Info_PutNodeAttr("", "x"));
  CODE(PMI2_ERR_INVALID_VAL, PMI2_Info_PutNodeAttr("x", NULL));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Info_GetNodeAttr("x", NULL, 1, &found, 0));
  CODE(PMI2_ERR_INVALID_ARG,
       PMI2_Info_GetNodeAttrIntArray(NULL, NULL, 0, NULL, &found));
}

static void Ring(int turn) {
  char value[32];
  char left[32];
  char right[32];
  char want[32];
  int rank = -1;
  int ranks = -1;
  snprintf(value, sizeof(value), "%d of %d", g_rank, turn);
  CODE(PMI2_SUCCESS,
       PMIX_Ring(value, &rank, &ranks, left, right, sizeof(left)));
  CHECK(rank == g_rank && ranks == (int)g_size, "%d of %d", rank, ranks);
  snprintf(want, sizeof(want), "%u of %d", (g_self.rank + g_size - 1) % g_size,
           turn);
  CHECK(strcmp(left, want) == 0, "left is %s", left);
  snprintf(want, sizeof(want), "%u of %d", (g_self.rank + 1) % g_size, turn);
  CHECK(strcmp(right, want) == 0, "right is %s", right);
  CODE(PMI2_ERR_INVALID_ARG, PMIX_Ring(value, NULL, &ranks, left, right, 32));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  Init();
  Job();
  Exchange();
  JobAttributes();
  NodeAttributes();
  for (int turn = 0; turn < 3; ++turn) Ring(turn);
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  CODE(PMI2_SUCCESS, PMI2_Finalize());
  CODE(PMI2_ERR_INIT, PMI2_Finalize());
  printf("pmi2 ok %d\n", g_rank);
  return 0;
}
