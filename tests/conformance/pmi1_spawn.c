// PMI-1: spawning of two commands as one job, with hints, and with pairs that
// are put for the new job beforehand. A child is this program with the word
// "child" and the number of its command.
#include <errno.h>
#include <pmi.h>

#include "pmi_codes.h"

static int g_rank;
static char g_path[4096];  // path of this program

static void Init(int want) {
  int spawned = 7;
  CODE(PMI_SUCCESS, PMI_Init(&spawned));
  CHECK(spawned == want, "spawned is %d", spawned);
  CODE(PMI_SUCCESS, PMI_Get_rank(&g_rank));
  g_self.rank = (pmix_rank_t)g_rank;
  int size = 0;
  CODE(PMI_SUCCESS, PMI_Get_size(&size));
  CHECK(size == (int)g_size, "size %d", size);
}

static void MustFind(const char *key, const char *want) {
  char job[256];
  char value[256];
  CODE(PMI_SUCCESS, PMI_KVS_Get_my_name(job, sizeof(job)));
  CODE(PMI_SUCCESS, PMI_KVS_Get(job, key, value, sizeof(value)));
  CHECK(strcmp(value, want) == 0, "%s is %s", key, value);
}

static int Child(const char *command) {
  Init(PMI_TRUE);
  g_program = "child";
  int appnum = 7;
  CODE(PMI_SUCCESS, PMI_Get_appnum(&appnum));
  CHECK(appnum == atoi(command), "application %d", appnum);
  MustFind("parent port", "port=7");
  MustFind("another", "pair");
  char here[4096];
  CHECK(getcwd(here, sizeof(here)) != NULL, "%s", strerror(errno));
  CHECK(appnum == 0 || strcmp(here, "/usr") == 0, "runs in %s", here);
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_Finalize());
  return 0;
}

static void WrongArguments(void) {
  const char *commands[1] = {NULL};
  const int counts[1] = {1};
  const int none[1] = {0};
  CODE(PMI_ERR_INVALID_ARG, PMI_Spawn_multiple(0, commands, NULL, counts, NULL,
                                               NULL, 0, NULL, NULL));
  CODE(PMI_ERR_INVALID_ARG,
       PMI_Spawn_multiple(1, NULL, NULL, counts, NULL, NULL, 0, NULL, NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Spawn_multiple(1, commands, NULL, counts, NULL,
                                               NULL, 0, NULL, NULL));
  commands[0] = g_path;
  CODE(PMI_ERR_INVALID_ARG,
       PMI_Spawn_multiple(1, commands, NULL, none, NULL, NULL, 0, NULL, NULL));
  CODE(PMI_ERR_INVALID_ARG, PMI_Spawn_multiple(1, commands, NULL, counts, NULL,
                                               NULL, 1, NULL, NULL));
  commands[0] = "/no/such/program";
  int errors[1] = {7};
  CODE(PMI_FAIL, PMI_Spawn_multiple(1, commands, NULL, counts, NULL, NULL, 0,
                                    NULL, errors));
  CHECK(errors[0] != PMI_SUCCESS, "error %d", errors[0]);
}

static void Spawn(void) {
  const char *commands[2] = {g_path, g_path};
  const char *first[] = {"3", "1", "child", "0", NULL};
  const char *second[] = {"3", "1", "child", "1", NULL};
  const char **arguments[2] = {first, second};
  const int counts[2] = {1, 2};
  const PMI_keyval_t hints[2] = {{(char *)"wdir", (char *)"/usr"},
                                 {(char *)"unknown", (char *)"hint"}};
  const int sizes[2] = {0, 2};
  const PMI_keyval_t *infos[2] = {NULL, hints};
  const PMI_keyval_t preput[2] = {{(char *)"parent port", (char *)"port=7"},
                                  {(char *)"another", (char *)"pair"}};
  int errors[2] = {7, 7};
  CODE(PMI_SUCCESS, PMI_Spawn_multiple(2, commands, arguments, counts, sizes,
                                       infos, 2, preput, errors));
  CHECK(errors[0] == PMI_SUCCESS && errors[1] == PMI_SUCCESS, "errors %d, %d",
        errors[0], errors[1]);
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  if (argc > 4 && strcmp(argv[3], "child") == 0) return Child(argv[4]);
  CHECK(realpath(argv[0], g_path) != NULL, "%s: %s", argv[0], strerror(errno));
  Init(PMI_FALSE);
  if (g_rank == 0) {
    WrongArguments();
    Spawn();
  }
  CODE(PMI_SUCCESS, PMI_Barrier());
  CODE(PMI_SUCCESS, PMI_Finalize());
  printf("pmi1_spawn ok %d\n", g_rank);
  return 0;
}
