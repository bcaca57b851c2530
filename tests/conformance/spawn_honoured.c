// Attributes of PMIx_Spawn that this host does not honour, or not with every
// value: each is rejected if it is marked as required or has no meaning.
#include <errno.h>

#include "check.h"

static char g_path[4096];  // path of this program

static char g_count[16];
static char *g_argv[] = {g_path, g_count, (char *)"1", (char *)"child", NULL};

static pmix_status_t SpawnWith(pmix_info_t *info) {
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = g_path;
  app.argv = g_argv;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  snprintf(g_count, sizeof(g_count), "1");
  return PMIx_Spawn(info, 1, &app, 1, nspace);
}

static void IsRefusedWhenRequired(const char *key, const void *value,
                                  pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, value, type);
  OK(SpawnWith(&info));
  PMIX_INFO_REQUIRED(&info);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, SpawnWith(&info));
}

static void WhatIsNotHonoured(void) {
  const uint64_t nodes = 1;
  IsRefusedWhenRequired(PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  IsRefusedWhenRequired(PMIX_ALLOC_QUEUE, "fast", PMIX_STRING);
}

// Values without a meaning.
static void Malformed(void) {
  const bool yes = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_MAX_RESTARTS, "often", PMIX_STRING);
  EXPECT(PMIX_ERR_BAD_PARAM, SpawnWith(&info));
  PMIX_INFO_LOAD(&info, PMIX_COSPAWN_APP, &yes, PMIX_BOOL);
  EXPECT(PMIX_ERR_BAD_PARAM, SpawnWith(&info)); /* no job is left */
  PMIX_INFO_LOAD(&info, PMIX_CPU_LIST, "x", PMIX_STRING);
  EXPECT(PMIX_ERR_BAD_PARAM, SpawnWith(&info));
}

// The launcher adds an emulated node, which later spawns can name.
static void HostsThatAreNoMembers(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_HOST, "new.member", PMIX_STRING);
  EXPECT(PMIX_ERR_JOB_ALLOC_FAILED, SpawnWith(&info));
  PMIX_INFO_LOAD(&info, PMIX_ADD_HOST, "new.member", PMIX_STRING);
  PMIX_INFO_REQUIRED(&info);
  OK(SpawnWith(&info));
  PMIX_INFO_LOAD(&info, PMIX_HOST, "new.member", PMIX_STRING);
  OK(SpawnWith(&info));
  PMIX_INFO_LOAD(&info, PMIX_HOST, "no.such.member", PMIX_STRING);
  EXPECT(PMIX_ERR_JOB_ALLOC_FAILED, SpawnWith(&info));
}

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[3], "child") == 0) return 0;
  Start(argc, argv);
  const ssize_t n = readlink("/proc/self/exe", g_path, sizeof(g_path) - 1);
  CHECK(n > 0, "%s", strerror(errno));
  if (g_self.rank == 0) {
    WhatIsNotHonoured();
    Malformed();
    HostsThatAreNoMembers();
  }
  return Finish();
}
