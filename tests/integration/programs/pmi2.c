/* Tests PMI-2 with a library that speaks it over PMI_FD. Usage: pmi2 exchange
 * SIZE | spawn SIZE | abort FLAG | steps SIZE DIRECTORY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmi2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank = -1, size, spawned, application;
static char job[256];

static void check(int holds, const char *format, ...) {
  if (holds) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "rank %d: ", rank);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(9);
}

static void ok(int code, const char *what) {
  check(code == PMI2_SUCCESS, "%s gives %d", what, code);
}
#define OK(call) ok(call, #call)

/* The library must not be Canopy's, which uses another protocol. */
static void check_library(void) {
  Dl_info info;
  check(dladdr((void *)PMI2_Init, &info) != 0, "no library");
  check(strstr(info.dli_fname, "canopy") == NULL, "uses %s", info.dli_fname);
}

static void begin(int want) {
  check_library();
  OK(PMI2_Init(&spawned, &size, &rank, &application));
  check(size == want, "size %d", size);
  OK(PMI2_Job_GetId(job, sizeof job));
}

static void want_of(const char *from, const char *key, const char *want) {
  char value[PMI2_MAX_VALLEN];
  int length = 0;
  OK(PMI2_KVS_Get(from, PMI2_ID_NULL, key, value, sizeof value, &length));
  check(strcmp(value, want) == 0, "%s is %s, not %s", key, value, want);
  check(length == (int)strlen(want), "%s has length %d", key, length);
}

static void exchange(const char *name) {
  char key[64], value[128];
  snprintf(key, sizeof key, "%s-%d", name, rank);
  snprintf(value, sizeof value, "a=%d; b;; of %s", rank, name);
  OK(PMI2_KVS_Put(key, value));
  OK(PMI2_KVS_Fence());
  for (int r = 0; r < size; ++r) {
    snprintf(key, sizeof key, "%s-%d", name, r);
    snprintf(value, sizeof value, "a=%d; b;; of %s", r, name);
    want_of(job, key, value);
  }
}

static void absent(void) {
  char value[16];
  int length = 0, found = 7;
  check(PMI2_KVS_Get(job, 0, "none", value, 16, &length) != PMI2_SUCCESS,
        "there is a key that nobody has put");
  check(PMI2_KVS_Put("pmix.rank", "7") != PMI2_SUCCESS, "PMIx's keys are free");
  OK(PMI2_Info_GetNodeAttr("none", value, 16, &found, 0));
  check(!found, "there is an attribute that nobody has put");
  OK(PMI2_Info_GetJobAttr("none", value, 16, &found));
  check(!found, "the job has an attribute that nobody knows");
}

static void job_attributes(void) {
  char value[PMI2_MAX_ATTRVALUE];
  int found = 0;
  OK(PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value, &found));
  check(found && strncmp(value, "(vector,", 8) == 0, "mapping %s", value);
  OK(PMI2_Info_GetJobAttr("universeSize", value, sizeof value, &found));
  check(found && atoi(value) >= 1, "universe of %s", value);
}

/* The lowest rank of a node sets an attribute for which the others of the node
 * wait. */
static void node_attributes(void) {
  int *ranks = calloc(size, sizeof(int));
  int count = 0, found = 0;
  OK(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, size, &count, &found));
  check(found && count >= 1, "%d local ranks", count);
  char want[32], value[PMI2_MAX_ATTRVALUE];
  snprintf(want, sizeof want, "of %d", ranks[0]);
  if (rank == ranks[0]) {
    usleep(100 * 1000);
    OK(PMI2_Info_PutNodeAttr("pool", want));
  }
  OK(PMI2_Info_GetNodeAttr("pool", value, sizeof value, &found, 1));
  check(found && strcmp(value, want) == 0, "pool is %s, not %s", value, want);
  free(ranks);
}

static void ring(void) {
  char value[32], left[32], right[32], want[32];
  int own = -1, ranks = -1;
  for (int turn = 0; turn < 5; ++turn) {
    snprintf(value, sizeof value, "%d of %d", rank, turn);
    OK(PMIX_Ring(value, &own, &ranks, left, right, sizeof left));
    check(own == rank && ranks == size, "%d of %d in the ring", own, ranks);
    snprintf(want, sizeof want, "%d of %d", (rank + size - 1) % size, turn);
    check(strcmp(left, want) == 0, "left is %s, not %s", left, want);
    snprintf(want, sizeof want, "%d of %d", (rank + 1) % size, turn);
    check(strcmp(right, want) == 0, "right is %s, not %s", right, want);
  }
}

static void names(void) {
  char service[300], port[64];
  snprintf(service, sizeof service, "service of %s", job);
  if (rank == 0) OK(PMI2_Nameserv_publish(service, NULL, "port;1"));
  OK(PMI2_KVS_Fence());
  OK(PMI2_Nameserv_lookup(service, NULL, port, sizeof port));
  check(strcmp(port, "port;1") == 0, "port is %s", port);
  OK(PMI2_KVS_Fence());
  if (rank != 0) return;
  check(PMI2_Nameserv_publish(service, NULL, "2") != PMI2_SUCCESS,
        "a name is published twice");
  OK(PMI2_Nameserv_unpublish(service, NULL));
  check(PMI2_Nameserv_lookup(service, NULL, port, sizeof port) != PMI2_SUCCESS,
        "a name that was withdrawn is there");
  check(PMI2_Nameserv_unpublish(service, NULL) != PMI2_SUCCESS,
        "a name is withdrawn twice");
}

static void spawn(const char *program, char *child, int room) {
  const char *programs[] = {program, program};
  const char *words[] = {"child", "3", job};
  const char **arguments[] = {words, words};
  int lengths[] = {3, 3}, errors[3] = {7, 7, 7};
  const int counts[] = {1, 2}, hints[] = {0, 1};
  const struct MPID_Info hint = {.key = "wdir", .value = "/usr"};
  const struct MPID_Info *infos[] = {NULL, &hint};
  const struct MPID_Info pair = {.key = "given", .value = "by; parent"};
  const struct MPID_Info *preput[] = {&pair};
  OK(PMI2_Job_Spawn(2, programs, lengths, arguments, counts, hints, infos, 1,
                    preput, child, room, errors));
  programs[0] = "/no/such/program";
  char none[256];
  check(PMI2_Job_Spawn(1, programs, lengths, arguments, counts, NULL, NULL, 0,
                       NULL, none, sizeof none, errors) != PMI2_SUCCESS,
        "a program that is not there is spawned");
}

/* Rank 0 distributes the name of the job that it has spawned. */
static void parents(const char *program) {
  char child[256] = "", key[64];
  int length = 0;
  if (rank == 0) {
    spawn(program, child, sizeof child);
    OK(PMI2_KVS_Put("child", child));
  }
  snprintf(key, sizeof key, "parent-%d", rank);
  OK(PMI2_KVS_Put(key, "here"));
  OK(PMI2_KVS_Fence());
  OK(PMI2_KVS_Get(job, 0, "child", child, sizeof child, &length));
  OK(PMI2_Job_Connect(child, NULL));
  OK(PMI2_Job_Disconnect(child));
}

static void children(const char *parent) {
  check(spawned, "a child that was not spawned");
  want_of(NULL, "given", "by; parent");
  char here[4096];
  check(getcwd(here, sizeof here) != NULL, "no directory");
  check(application == 0 || strcmp(here, "/usr") == 0, "runs in %s", here);
  OK(PMI2_Job_Connect(parent, NULL));
  char value[64];
  int length = 0;
  OK(PMI2_KVS_Get(parent, 0, "parent-0", value, sizeof value, &length));
  check(strcmp(value, "here") == 0, "the parent is %s", value);
  OK(PMI2_Job_Disconnect(parent));
  exchange("child");
}

static void await(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  while (access(path, F_OK) != 0) usleep(5000);
}

static void say(const char *what) {
  printf("rank %d %s\n", rank, what);
  fflush(stdout);
}

/* Waits at points where its agents can be killed and replaced: outside PMI, in
 * a fence, for an attribute of the node, and for a job that it spawns. */
static void steps(const char *program, const char *directory) {
  char value[64];
  int found = 0;
  exchange("first");
  say("is ready");
  await(directory, "go1");
  exchange("second");
  ring();
  names();
  say("is new");
  if (rank == 0) await(directory, "go2");
  exchange("third");
  say("is through");
  if (rank == 0) await(directory, "go3");
  if (rank == 0) OK(PMI2_Info_PutNodeAttr("late", "yes"));
  int ranks[64], count = 0;
  OK(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, 64, &count, &found));
  if (ranks[0] == 0) {
    OK(PMI2_Info_GetNodeAttr("late", value, sizeof value, &found, 1));
    check(found && strcmp(value, "yes") == 0, "late is %s", value);
  }
  say("has waited");
  await(directory, "go4");
  parents(program);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *mode = argv[1];
  if (strcmp(mode, "abort") == 0) {
    begin(atoi(getenv("PMI_SIZE")));
    OK(PMI2_KVS_Fence());
    if (rank == 1) PMI2_Abort(atoi(argv[2]), "rank 1; has had enough");
    OK(PMI2_KVS_Fence());
    return 0;
  }
  begin(atoi(argv[2]));
  if (strcmp(mode, "exchange") == 0) {
    for (int turn = 0; turn < 3; ++turn) exchange("turn");
    absent();
    job_attributes();
    node_attributes();
    ring();
    names();
  } else if (strcmp(mode, "spawn") == 0) {
    parents(argv[0]);
  } else if (strcmp(mode, "child") == 0) {
    children(argv[3]);
  } else {
    steps(argv[0], argv[3]);
  }
  OK(PMI2_Finalize());
  printf("%s %d ok\n", mode, rank);
  return 0;
}
