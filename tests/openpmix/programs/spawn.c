/* Tests PMIx_Spawn: `spawn MODE [N]` starts itself as N children. */
#include "check.h"

#define MAX_CHILDREN 64

static char self[4096];

static int is_child(pmix_proc_t *parent) {
  pmix_proc_t proc = rank_of_job(PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  if (PMIx_Get(&proc, PMIX_PARENT_ID, NULL, 0, &value) != PMIX_SUCCESS) {
    return 0;
  }
  EXPECT(PMIX_PROC, value->type);
  *parent = *value->data.proc;
  PMIX_VALUE_RELEASE(value);
  value = get(PMIX_RANK_WILDCARD, PMIX_SPAWNED);
  EXPECT(PMIX_BOOL, value->type);
  TRUE_(value->data.flag);
  PMIX_VALUE_RELEASE(value);
  return 1;
}

static pmix_status_t spawn(const char *cmd, const char *mode, int count,
                           pmix_info_t *job, size_t njob, pmix_info_t *infos,
                           size_t ninfos, char *nspace) {
  pmix_app_t app;
  char *argv[] = {(char *)cmd, (char *)mode, NULL};
  char *env[] = {"SPAWN_GIVEN=yes", NULL};
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = (char *)cmd;
  app.argv = argv;
  app.env = env;
  app.maxprocs = count;
  app.info = infos;
  app.ninfo = ninfos;
  return PMIx_Spawn(job, njob, &app, 1, nspace);
}

static void assemblage(pmix_proc_t procs[2], const pmix_proc_t *parent,
                       const char *child) {
  procs[0] = *parent;
  PMIX_LOAD_PROCID(&procs[1], child, PMIX_RANK_WILDCARD);
}

static uint32_t size_of(const char *nspace) {
  pmix_proc_t proc;
  pmix_value_t *value = NULL;
  uint32_t size;
  PMIX_LOAD_PROCID(&proc, nspace, PMIX_RANK_WILDCARD);
  OK(PMIx_Get(&proc, PMIX_JOB_SIZE, NULL, 0, &value));
  size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

/* Each rank spawns `count` children, connects with them and reads data of one
 * child. */
static void meet(int count) {
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  pmix_proc_t procs[2];
  pmix_proc_t last;
  pmix_value_t *value = NULL;
  OK(spawn(self, "meet", count, NULL, 0, NULL, 0, nspace));
  TRUE_(nspace[0] != '\0' && strcmp(nspace, me.nspace) != 0);
  EXPECT(count, size_of(nspace));
  assemblage(procs, &me, nspace);
  OK(PMIx_Connect(procs, 2, NULL, 0));
  PMIX_LOAD_PROCID(&last, nspace, (pmix_rank_t)count - 1);
  OK(PMIx_Get(&last, "child.number", NULL, 0, &value));
  EXPECT(100 + count - 1, value->data.uint64);
  PMIX_VALUE_RELEASE(value);
  OK(PMIx_Disconnect(procs, 2, NULL, 0));
  printf("rank %u spawned %d\n", me.rank, count);
}

static void meet_parent(const pmix_proc_t *parent) {
  pmix_proc_t procs[2];
  put_u64("child.number", 100 + me.rank);
  OK(PMIx_Commit());
  TRUE_(size_of(parent->nspace) >= 1);
  assemblage(procs, parent, me.nspace);
  OK(PMIx_Connect(procs, 2, NULL, 0));
  OK(PMIx_Disconnect(procs, 2, NULL, 0));
  printf("child %u of %u, parent %u, given %s\n", me.rank, job_size,
         parent->rank, getenv("SPAWN_GIVEN"));
  fprintf(stderr, "child %u writes to stderr\n", me.rank);
}

static void refused(pmix_status_t wanted, const char *cmd, int count,
                    const char *key, const char *text, int required) {
  pmix_info_t info;
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
  if (required) info.flags |= PMIX_INFO_REQD;
  EXPECT(wanted, spawn(cmd, "meet", count, NULL, 0, &info, 1, nspace));
  PMIX_INFO_DESTRUCT(&info);
}

/* No system accepts a variable of half a megabyte. */
static void refused_environment(void) {
  pmix_app_t app;
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  size_t size = 512 * 1024;
  char *variable = malloc(size + 1);
  char *env[2] = {variable, NULL};
  char *argv[2] = {self, NULL};
  memset(variable, 'x', size);
  memcpy(variable, "LARGE=", 6);
  variable[size] = '\0';
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = self;
  app.argv = argv;
  app.env = env;
  app.maxprocs = 1;
  EXPECT(PMIX_ERR_JOB_SYS_OP_FAILED, PMIx_Spawn(NULL, 0, &app, 1, nspace));
  free(variable);
}

static void errors(void) {
  const char *fine = "ompi";
  refused(PMIX_ERR_JOB_EXE_NOT_FOUND, "/no/such/program", 1, PMIX_PERSONALITY,
          fine, 0);
  refused(PMIX_ERR_JOB_APP_NOT_EXECUTABLE, "/etc/passwd", 1, PMIX_PERSONALITY,
          fine, 0);
  refused(PMIX_ERR_JOB_WDIR_NOT_FOUND, self, 1, PMIX_WDIR, "/no/such/place", 0);
  refused(PMIX_ERR_JOB_INSUFFICIENT_RESOURCES, self, 4000, PMIX_MAPBY,
          "slot:nooversubscribe", 0);
  refused(PMIX_ERR_JOB_ALLOC_FAILED, self, 1, PMIX_HOST, "no-such-host", 0);
  refused(PMIX_ERR_JOB_FAILED_TO_MAP, self, 1, PMIX_HOSTFILE, "/no/such/file",
          0);
  refused_environment();
  refused(PMIX_ERR_BAD_PARAM, self, 1, PMIX_MAPBY, "nonsense", 0);
  refused(PMIX_ERR_JOB_NO_EXE_SPECIFIED, "", 1, PMIX_PERSONALITY, fine, 0);
  refused(PMIX_ERR_NOT_SUPPORTED, self, 1, "no.such.key", "x", 1);
  printf("errors as they should be\n");
}

static void load_envar(pmix_info_t *info, const char *key, const char *name,
                       const char *value) {
  pmix_envar_t envar = {(char *)name, (char *)value, ':'};
  PMIX_INFO_LOAD(info, key, &envar, PMIX_ENVAR);
}

/* Sets variables in the order of the array, and a directory. */
static void environment(const char *directory) {
  pmix_info_t infos[6];
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  load_envar(&infos[0], PMIX_SET_ENVAR, "SPAWN_A", "1");
  load_envar(&infos[1], PMIX_ADD_ENVAR, "SPAWN_A", "2");
  load_envar(&infos[2], PMIX_APPEND_ENVAR, "SPAWN_A", "3");
  load_envar(&infos[3], PMIX_PREPEND_ENVAR, "SPAWN_A", "0");
  PMIX_INFO_LOAD(&infos[4], PMIX_UNSET_ENVAR, "SPAWN_OLD", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[5], PMIX_WDIR, directory, PMIX_STRING);
  OK(spawn(self, "environment", 1, infos, 6, NULL, 0, nspace));
}

static void show_environment(void) {
  char cwd[4096];
  printf("SPAWN_A=%s SPAWN_OLD=%s in %s\n", getenv("SPAWN_A"),
         getenv("SPAWN_OLD") == NULL ? "(none)" : getenv("SPAWN_OLD"),
         getcwd(cwd, sizeof cwd));
}

/* Spawns one child after the other, each with its own variables. */
static void many(int count) {
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  int i;
  for (i = 0; i < count; ++i) {
    OK(spawn(self, "many", 1, NULL, 0, NULL, 0, nspace));
  }
  printf("spawned %d jobs\n", count);
}

/* Makes a file that shows the progress of the process, whose output may be
 * lost. */
static void mark(const char *what) {
  char path[4096];
  FILE *file;
  snprintf(path, sizeof path, "%s/%s.%u", getenv("SPAWN_PLACE"), what, me.rank);
  file = fopen(path, "w");
  TRUE_(file != NULL && fclose(file) == 0);
}

/* Spawns a job that continues without the launcher, and a job that does not. */
static void without_launcher(void) {
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_NOHUP, NULL, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&info);
  OK(spawn(self, "nohup", 2, &info, 1, NULL, 0, nspace));
  printf("goes on: %s\n", nspace);
  OK(spawn(self, "killed", 1, NULL, 0, NULL, 0, nspace));
  printf("spawned\n");
  fflush(stdout);
  sleep(50);
}

/* Spawns a job that exceeds its time limit, with the reports requested. */
static void out_of_time(void) {
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  pmix_info_t infos[3];
  int seconds = 1;
  int i;
  PMIX_INFO_LOAD(&infos[0], PMIX_JOB_TIMEOUT, &seconds, PMIX_INT);
  PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT_REPORT_STATE, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[2], PMIX_TIMEOUT_STACKTRACES, NULL, PMIX_BOOL);
  for (i = 0; i < 3; ++i) PMIX_INFO_REQUIRED(&infos[i]);
  OK(spawn(self, "killed", 2, infos, 3, NULL, 0, nspace));
}

/* Waits until the file exists. */
static void await_go(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/go", getenv("SPAWN_PLACE"));
  while (access(path, F_OK) != 0) usleep(10000);
}

static int child(const char *mode, const pmix_proc_t *parent) {
  if (strcmp(mode, "meet") == 0) meet_parent(parent);
  if (strcmp(mode, "environment") == 0) show_environment();
  if (strcmp(mode, "outlive") == 0) {
    sleep(1);
    printf("child ends after its parent\n");
  }
  if (strcmp(mode, "through") == 0) {
    printf("child %u is ready\n", me.rank);
    fflush(stdout);
    await_go();
    printf("child %u is through\n", me.rank);
  }
  if (strcmp(mode, "nohup") == 0) {
    mark("ready");
    await_go();
    printf("nobody reads this\n");
    fflush(stdout);
    mark("through");
  }
  if (strcmp(mode, "child-fails") == 0) exit(3);
  if (strcmp(mode, "parent-fails") == 0 || strcmp(mode, "killed") == 0) {
    sleep(50);
  }
  OK(PMIx_Finalize(NULL, 0));
  return 0;
}

static int parent(const char *mode, int argc, char **argv) {
  char nspace[PMIX_MAX_NSLEN + 1] = "";
  if (strcmp(mode, "meet") == 0) meet(atoi(argv[2]));
  if (strcmp(mode, "errors") == 0) errors();
  if (strcmp(mode, "environment") == 0) environment(argv[2]);
  if (strcmp(mode, "many") == 0) many(atoi(argv[2]));
  if (strcmp(mode, "nohup") == 0) without_launcher();
  if (strcmp(mode, "out-of-time") == 0) out_of_time();
  if (strcmp(mode, "through") == 0) {
    OK(spawn(self, mode, 2, NULL, 0, NULL, 0, nspace));
    await_go();
    meet(2);
  }
  if (strcmp(mode, "outlive") == 0 || strcmp(mode, "child-fails") == 0 ||
      strcmp(mode, "parent-fails") == 0 || strcmp(mode, "killed") == 0) {
    OK(spawn(self, mode, 2, NULL, 0, NULL, 0, nspace));
    printf("spawned\n");
    fflush(stdout);
  }
  if (strcmp(mode, "parent-fails") == 0) exit(4);
  if (strcmp(mode, "child-fails") == 0 || strcmp(mode, "killed") == 0) {
    sleep(50);
  }
  (void)argc;
  OK(PMIx_Finalize(NULL, 0));
  return 0;
}

int main(int argc, char **argv) {
  pmix_proc_t from;
  alarm(100);
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || argc < 2) {
    return 2;
  }
  OK(PMIx_Init(&me, NULL, 0));
  job_size = get_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (is_child(&from)) return child(argv[1], &from);
  return parent(argv[1], argc, argv);
}
