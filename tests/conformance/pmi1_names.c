// PMI-1: services by name. Names outlive the job, so they contain the job's
// name.
#include <pmi.h>

#include "pmi_codes.h"

static int g_rank;
static char g_names[64][300];

static void Start1(void) {
  int spawned = 0;
  char job[256];
  CODE(PMI_ERR_INIT, PMI_Publish_name("name", "port"));
  CODE(PMI_ERR_INIT, PMI_Unpublish_name("name"));
  CODE(PMI_ERR_INIT, PMI_Lookup_name("name", job));
  CODE(PMI_SUCCESS, PMI_Init(&spawned));
  CODE(PMI_SUCCESS, PMI_Get_rank(&g_rank));
  g_self.rank = (pmix_rank_t)g_rank;
  CODE(PMI_SUCCESS, PMI_Get_id(job, sizeof(job)));
  for (uint32_t r = 0; r < g_size; ++r) {
    snprintf(g_names[r], sizeof(g_names[r]), "service %u of %s", r, job);
  }
}

static void WrongArguments(void) {
  char port[256];
  char name[600];
  memset(name, 'n', sizeof(name));
  name[PMIX_MAX_KEYLEN + 1] = '\0';
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name(NULL, "port"));
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name("name", NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name("", "port"));
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name(name, "port"));
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name("pmix.range", "port"));
  CODE(PMI_ERR_INVALID_ARG, PMI_Publish_name("name", name));
  CODE(PMI_ERR_INVALID_ARG, PMI_Unpublish_name(NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Lookup_name(NULL, port));
  CODE(PMI_ERR_INVALID_ARG, PMI_Lookup_name("name", NULL));
  CODE(PMI_FAIL, PMI_Lookup_name("nobody has it", port));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(g_size <= 64, "needs at most 64 ranks");
  Start1();
  WrongArguments();
  char port[256];
  char want[64];
  const char *mine = g_names[g_rank];
  snprintf(want, sizeof(want), "port %d", g_rank);
  CODE(PMI_SUCCESS, PMI_Publish_name(mine, want));
  CODE(PMI_FAIL, PMI_Publish_name(mine, "another"));
  CODE(PMI_SUCCESS, PMI_Barrier());
  for (uint32_t r = 0; r < g_size; ++r) {
    CODE(PMI_SUCCESS, PMI_Lookup_name(g_names[r], port));
    snprintf(want, sizeof(want), "port %u", r);
    CHECK(strcmp(port, want) == 0, "%s is at %s", g_names[r], port);
  }
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_Unpublish_name(mine));
  CODE(PMI_FAIL, PMI_Lookup_name(mine, port));
  CODE(PMI_SUCCESS, PMI_Publish_name(mine, "again"));
  CODE(PMI_SUCCESS, PMI_Unpublish_name(mine));
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_Finalize());
  printf("pmi1_names ok %d\n", g_rank);
  return 0;
}
