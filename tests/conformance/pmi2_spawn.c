// PMI-2: spawning of two commands as one job, with hints, and with pairs that
// are put for the new job beforehand; then a connection with the new job. A
// child is this program with the word "child", the number of its command, and
// the job of its parent.
#include <errno.h>
#include <pmi2.h>

#include "pmi_codes.h"

static int g_rank;
static char g_path[4096];  // path of this program

static int Init(int want) {
  int spawned = 7;
  int size = 0;
  int appnum = 7;
  CODE(PMI2_SUCCESS, PMI2_Init(&spawned, &size, &g_rank, &appnum));
  CHECK(!spawned == !want, "spawned is %d", spawned);
  g_self.rank = (pmix_rank_t)g_rank;
  CHECK(size == (int)g_size, "size %d", size);
  return appnum;
}

static void MustFind(const char *key, const char *want) {
  char value[PMI2_MAX_VALLEN];
  int length = 0;
  CODE(PMI2_SUCCESS,
       PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, sizeof(value), &length));
  CHECK(strcmp(value, want) == 0, "%s is %s", key, value);
}

static int Child(char **words) {
  const int appnum = Init(1);
  g_program = "child";
  CHECK(appnum == atoi(words[0]), "application %d", appnum);
  MustFind("parent port", "port=7");
  MustFind("another", "pair");
  char here[4096];
  CHECK(getcwd(here, sizeof(here)) != NULL, "%s", strerror(errno));
  CHECK(appnum == 0 || strcmp(here, "/usr") == 0, "runs in %s", here);
  CODE(PMI2_SUCCESS, PMI2_Job_Connect(words[1], NULL));
  CODE(PMI2_SUCCESS, PMI2_Job_Disconnect(words[1]));
  CODE(PMI2_SUCCESS, PMI2_Finalize());
  return 0;
}

static int SpawnOne(const char *command, int count, char *job, int room,
                    int *errors) {
  const char *commands[1] = {command};
  const int counts[1] = {count};
  return PMI2_Job_Spawn(1, commands, NULL, NULL, counts, NULL, NULL, 0, NULL,
                        job, room, errors);
}

static void WrongArguments(void) {
  char job[256];
  int errors[1] = {7};
  CODE(PMI2_ERR_INVALID_ARG, SpawnOne(NULL, 1, job, sizeof(job), errors));
  CODE(PMI2_ERR_INVALID_ARG, SpawnOne(g_path, 0, job, sizeof(job), errors));
  CODE(PMI2_ERR_INVALID_ARG,
       PMI2_Job_Spawn(0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, job,
                      sizeof(job), errors));
  CODE(PMI2_FAIL, SpawnOne("/no/such/program", 1, job, sizeof(job), errors));
  CHECK(errors[0] != PMI2_SUCCESS, "error %d", errors[0]);
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Job_Connect(NULL, NULL));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Job_Disconnect(NULL));
}

// All ranks of the parent's job connect with the child's job, whose name rank 0
// distributes.
static void ConnectWith(const char *job) {
  char name[256];
  int length = 0;
  if (g_rank == 0) CODE(PMI2_SUCCESS, PMI2_KVS_Put("child", job));
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  CODE(PMI2_SUCCESS,
       PMI2_KVS_Get(NULL, 0, "child", name, sizeof(name), &length));
  CODE(PMI2_SUCCESS, PMI2_Job_Connect(name, NULL));
  CODE(PMI2_SUCCESS, PMI2_Job_Disconnect(name));
}

static struct MPID_Info Pair(const char *key, const char *value) {
  const struct MPID_Info pair = {.key = (char *)key, .value = (char *)value};
  return pair;
}

static void Spawn(char *job, int room) {
  char mine[256];
  CODE(PMI2_SUCCESS, PMI2_Job_GetId(mine, sizeof(mine)));
  const char *commands[2] = {g_path, g_path};
  int lengths[2] = {5, 5};
  const char *first[] = {"3", "1", "child", "0", mine};
  const char *second[] = {"3", "1", "child", "1", mine};
  const char **arguments[2] = {first, second};
  const int counts[2] = {1, 2};
  const struct MPID_Info hints[2] = {Pair("wdir", "/usr"),
                                     Pair("unknown", "hint")};
  const int sizes[2] = {0, 2};
  const struct MPID_Info *infos[2] = {NULL, hints};
  const struct MPID_Info pairs[2] = {Pair("parent port", "port=7"),
                                     Pair("another", "pair")};
  const struct MPID_Info *preput[2] = {&pairs[0], &pairs[1]};
  int errors[2] = {7, 7};
  CODE(PMI2_SUCCESS,
       PMI2_Job_Spawn(2, commands, lengths, arguments, counts, sizes, infos, 2,
                      preput, job, room, errors));
  CHECK(errors[0] == PMI2_SUCCESS && errors[1] == PMI2_SUCCESS, "errors %d, %d",
        errors[0], errors[1]);
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  if (argc > 5 && strcmp(argv[3], "child") == 0) return Child(argv + 4);
  CHECK(realpath(argv[0], g_path) != NULL, "%s: %s", argv[0], strerror(errno));
  (void)Init(0);
  char job[256];
  if (g_rank == 0) {
    WrongArguments();
    Spawn(job, sizeof(job));
  }
  ConnectWith(job);
  CODE(PMI2_SUCCESS, PMI2_Finalize());
  printf("pmi2_spawn ok %d\n", g_rank);
  return 0;
}
