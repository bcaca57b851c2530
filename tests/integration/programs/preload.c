/* Tests copies of a program and of files on nodes that do not have them. Usage:
 * preload
 *
 * spawn PROGRAM FILES STATUS  PROGRAM, a copy of this one, is spawned on two
 *                             nodes with FILES; PMIx_Spawn returns STATUS
 * copy FILE                   is a copy, and prints the file's copy */
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

static const char *directory(void) {
  pmix_proc_t job = self;
  pmix_value_t *value = NULL;
  job.rank = PMIX_RANK_WILDCARD;
  check(PMIx_Get(&job, PMIX_NSDIR, NULL, 0, &value), PMIX_NSDIR);
  return value->data.string;
}

static int copy(const char *file) {
  char program[4096] = "", path[4096], line[256] = "";
  check(PMIx_Init(&self, NULL, 0), "init");
  const char *const place = directory();
  const char *const told = getenv("CANOPY_JOB_DIR");
  want(told != NULL && strcmp(told, place) == 0, 1, "CANOPY_JOB_DIR");
  snprintf(path, sizeof(path), "%s/programs/0/", place);
  check(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0
            ? PMIX_SUCCESS : PMIX_ERROR, "readlink");
  want(strncmp(program, path, strlen(path)) == 0, 1, "the copy that runs");
  snprintf(path, sizeof(path), "%s/files/%s", place,
           file[0] == '/' ? strrchr(file, '/') + 1 : file);
  FILE *const in = fopen(path, "r");
  if (in == NULL || fgets(line, sizeof(line), in) == NULL) {
    check(PMIX_ERR_NOT_FOUND, path);
  }
  line[strcspn(line, "\n")] = '\0';
  printf("rank %u has %s\n", self.rank, line);
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}

static int spawn(char *program, char *files, const char *status) {
  pmix_info_t infos[3];
  pmix_app_t app;
  const bool yes = true;
  char nspace[PMIX_MAX_NSLEN + 1];
  check(PMIx_Init(&self, NULL, 0), "init");
  PMIX_INFO_LOAD(&infos[0], PMIX_PRELOAD_BIN, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_PRELOAD_FILES, files, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[2], PMIX_MAPBY, "node", PMIX_STRING);
  PMIX_INFO_REQUIRED(&infos[0]);
  PMIX_INFO_REQUIRED(&infos[1]);
  char *argv[] = {program, "copy", files, NULL};
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  app.argv = argv;
  app.maxprocs = 2;
  const int rc = PMIx_Spawn(infos, 3, &app, 1, nspace);
  if (strcmp(PMIx_Error_string(rc), status) != 0) check(rc, "spawn");
  check(PMIx_Finalize(NULL, 0), "finalize");
  printf("spawn gives %s\n", status);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "copy") == 0) return copy(argv[2]);
  if (argc == 5 && strcmp(argv[1], "spawn") == 0) {
    return spawn(argv[2], argv[3], argv[4]);
  }
  return 2;
}
