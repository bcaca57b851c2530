// PMIx_Spawn and PMIx_Spawn_nb: causes each documented status, and after each
// of them starts a job. Word: a directory for files.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "children.h"

static char g_true[] = "/bin/true";
static char *g_argv[2];
static char g_place[4096];

static pmix_app_t True(void) { return Program(g_true, g_argv); }

// Makes a file of this rank with that text.
static char *File(const char *name, const char *text, mode_t mode) {
  static char path[5000];
  snprintf(path, sizeof(path), "%s/%s.%u", g_place, name, g_self.rank);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  CHECK(fd >= 0, "%s: %s", path, strerror(errno));
  const ssize_t size = (ssize_t)strlen(text);
  CHECK(write(fd, text, (size_t)size) == size, "%s", strerror(errno));
  close(fd);
  return path;
}

// A failed request must leave nothing that disturbs the next request.
static void Starts(void) {
  pmix_app_t app = True();
  pmix_nspace_t nspace = "";
  OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
  CHECK(nspace[0] != '\0' && strcmp(nspace, g_self.nspace) != 0, "job '%s'",
        nspace);
  ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, NULL, 0, &app, 1, OnSpawned);
}

static void AllocationFailed(void) {
  pmix_app_t app = True();
  Directives hosts = {.count = 0};
  AddText(&hosts, PMIX_HOST, "no-such-host");
  EXPECT(PMIX_ERR_JOB_ALLOC_FAILED, PMIx_Spawn(hosts.info, 1, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_ALLOC_FAILED, PMIx_Spawn_nb, hosts.info, 1, &app, 1,
          OnSpawned);
}

static void NotExecutable(void) {
  pmix_app_t app = Program(File("plain", "no program", 0600), g_argv);
  EXPECT(PMIX_ERR_JOB_APP_NOT_EXECUTABLE, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_APP_NOT_EXECUTABLE, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
}

static void NoProgram(void) {
  pmix_app_t app = True();
  app.cmd = NULL;
  app.argv = NULL;
  EXPECT(PMIX_ERR_JOB_NO_EXE_SPECIFIED, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  REFUSES(PMIX_ERR_JOB_NO_EXE_SPECIFIED, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
}

// The hostfile of the mapping does not exist.
static void FailedToMap(void) {
  pmix_app_t app = True();
  Directives hosts = {.count = 0};
  AddText(&hosts, PMIX_HOSTFILE, "/no/such/hostfile");
  EXPECT(PMIX_ERR_JOB_FAILED_TO_MAP, PMIx_Spawn(hosts.info, 1, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_FAILED_TO_MAP, PMIx_Spawn_nb, hosts.info, 1, &app, 1,
          OnSpawned);
}

// The file may be executed, but is its own interpreter.
static void FailedToLaunch(void) {
  char text[5100];
  snprintf(text, sizeof(text), "#!%s\n", File("itself", "", 0700));
  pmix_app_t app = Program(File("itself", text, 0700), g_argv);
  EXPECT(PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
}

static void ProgramNotFound(void) {
  char path[] = "/no/such/program";
  pmix_app_t app = Program(path, g_argv);
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_EXE_NOT_FOUND, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
}

static void TooMany(void) {
  pmix_app_t app = True();
  app.maxprocs = 100000;
  const Directives full = Flag(PMIX_NO_OVERSUBSCRIBE);
  EXPECT(PMIX_ERR_JOB_INSUFFICIENT_RESOURCES,
         PMIx_Spawn(full.info, 1, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_INSUFFICIENT_RESOURCES, PMIx_Spawn_nb, full.info, 1,
          &app, 1, OnSpawned);
}

// No system accepts a variable of half a megabyte.
static void SystemRefuses(void) {
  pmix_app_t app = True();
  const size_t size = 512 * 1024;
  char *variable = malloc(size + 1);
  memset(variable, 'x', size);
  memcpy(variable, "LARGE=", 6);
  variable[size] = '\0';
  char *env[] = {variable, NULL};
  app.env = env;
  EXPECT(PMIX_ERR_JOB_SYS_OP_FAILED, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_SYS_OP_FAILED, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
  free(variable);
}

static void DirectoryNotFound(void) {
  pmix_app_t app = True();
  app.cwd = (char *)"/no/such/directory";
  EXPECT(PMIX_ERR_JOB_WDIR_NOT_FOUND, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  ANSWERS(PMIX_ERR_JOB_WDIR_NOT_FOUND, PMIx_Spawn_nb, NULL, 0, &app, 1,
          OnSpawned);
}

static void WrongArguments(void) {
  pmix_app_t app = True();
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn(NULL, 0, NULL, 0, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Spawn_nb, NULL, 0, NULL, 0, OnSpawned);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Spawn_nb, NULL, 1, &app, 1, OnSpawned);
}

static void NotSupported(void) {
  pmix_app_t app = True();
  Directives unknown = Flag("canopy.test.unknown");
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Spawn(unknown.info, 1, &app, 1, NULL));
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Spawn_nb, unknown.info, 1, &app, 1,
          OnSpawned);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no directory");
  snprintf(g_place, sizeof(g_place), "%s", argv[3]);
  static void (*const kCauses[])(void) = {
      AllocationFailed,  NotExecutable,   NoProgram,   FailedToMap,
      FailedToLaunch,    ProgramNotFound, TooMany,     SystemRefuses,
      DirectoryNotFound, WrongArguments,  NotSupported};
  if (g_self.rank == g_size - 1) {
    for (size_t i = 0; i < sizeof(kCauses) / sizeof(*kCauses); ++i) {
      kCauses[i]();
      Starts();
    }
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
