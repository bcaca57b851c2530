// PMI-2: services by name. Names outlive the job, so they contain the job's
// name.
#include <pmi2.h>

#include "pmi_codes.h"

static int g_rank;
static char g_names[64][300];

static void Start2(void) {
  int spawned = 0;
  int size = 0;
  int appnum = 0;
  char job[256];
  CODE(PMI2_ERR_INIT, PMI2_Nameserv_publish("name", NULL, "port"));
  CODE(PMI2_ERR_INIT, PMI2_Nameserv_unpublish("name", NULL));
  CODE(PMI2_ERR_INIT, PMI2_Nameserv_lookup("name", NULL, job, sizeof(job)));
  CODE(PMI2_SUCCESS, PMI2_Init(&spawned, &size, &g_rank, &appnum));
  g_self.rank = (pmix_rank_t)g_rank;
  CODE(PMI2_SUCCESS, PMI2_Job_GetId(job, sizeof(job)));
  for (uint32_t r = 0; r < g_size; ++r) {
    snprintf(g_names[r], sizeof(g_names[r]), "service %u of %s", r, job);
  }
  char value[PMI2_MAX_ATTRVALUE];
  int found = 0;
  CODE(PMI2_SUCCESS,
       PMI2_Info_GetJobAttr("hasNameServ", value, sizeof(value), &found));
  CHECK(found && strcmp(value, "TRUE") == 0, "hasNameServ is %s", value);
}

static void WrongArguments(void) {
  char port[256];
  char name[600];
  memset(name, 'n', sizeof(name));
  name[PMIX_MAX_KEYLEN + 1] = '\0';
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_publish(NULL, NULL, "port"));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_publish("name", NULL, NULL));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_publish("", NULL, "port"));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_publish(name, NULL, "port"));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_publish("pmix.range", NULL, "port"));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_unpublish(NULL, NULL));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_lookup(NULL, NULL, port, 1));
  CODE(PMI2_ERR_INVALID_ARG, PMI2_Nameserv_lookup("name", NULL, NULL, 1));
  CODE(PMI2_FAIL,
       PMI2_Nameserv_lookup("nobody has it", NULL, port, sizeof(port)));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(g_size <= 64, "needs at most 64 ranks");
  Start2();
  WrongArguments();
  char port[256];
  char want[64];
  const char *mine = g_names[g_rank];
  snprintf(want, sizeof(want), "port %d", g_rank);
  CODE(PMI2_SUCCESS, PMI2_Nameserv_publish(mine, NULL, want));
  CODE(PMI2_FAIL, PMI2_Nameserv_publish(mine, NULL, "another"));
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  for (uint32_t r = 0; r < g_size; ++r) {
    CODE(PMI2_SUCCESS,
         PMI2_Nameserv_lookup(g_names[r], NULL, port, sizeof(port)));
    snprintf(want, sizeof(want), "port %u", r);
    CHECK(strcmp(port, want) == 0, "%s is at %s", g_names[r], port);
    CODE(PMI2_ERR_INVALID_LENGTH,
         PMI2_Nameserv_lookup(g_names[r], NULL, port, (int)strlen(want)));
  }
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  CODE(PMI2_SUCCESS, PMI2_Nameserv_unpublish(mine, NULL));
  CODE(PMI2_FAIL, PMI2_Nameserv_lookup(mine, NULL, port, sizeof(port)));
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  CODE(PMI2_SUCCESS, PMI2_Finalize());
  printf("pmi2_names ok %d\n", g_rank);
  return 0;
}
