// The effects of attributes of PMIx_Spawn and PMIx_Spawn_nb on the processes
// that are spawned: each row spawns a script with one attribute and checks what
// the script reports. One call has the attribute at job level, the other in the
// application's infos. Word: a directory for files.
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "children.h"

enum { kRoom = 4096, kMaxProcs = 8 };

// How the lines of several processes are compared with `want`.
typedef enum {
  kOne,        // one process, whose line matches the pattern
  kElsewhere,  // one process, on another node than by default if there is one
  kTogether,   // two processes on one node
  kTwo,        // two processes with different lines
  kSpread,     // like kTwo, on two nodes if there are two
  kPair,       // two processes on each node; ranks 0 and 1 are on one node
} Shape;

typedef struct {
  const char *name;
  const char *key;
  pmix_data_type_t type;
  const void *value;
  const char *script;
  const char *want;  // a pattern of fnmatch
  Shape shape;
  const char *map_by;   // PMIX_MAPBY, unless null
  const char *program;  // in place of the shell, unless null
} Effect;

#define TEXT(attribute, value, script, want) \
  { #attribute, attribute, PMIX_STRING, value, script, want, kOne, NULL, NULL }
#define FLAG(attribute, script, want) \
  { #attribute, attribute, PMIX_BOOL, &kYes, script, want, kOne, NULL, NULL }
#define EDIT(attribute, edit, script, want) \
  { #attribute, attribute, PMIX_ENVAR, edit, script, want, kOne, NULL, NULL }

#define HOST "echo $PMIX_HOSTNAME"
#define VARIABLE "echo $CONFORMANCE"

static const bool kYes = true;
static const uint32_t kRestarts = 2;
static const pmix_envar_t kEdit = {(char *)"CONFORMANCE", (char *)"x", ':'};
static const pmix_envar_t kAdded = {(char *)"CONFORMANCE_ADDED", (char *)"x",
                                    ':'};
static char g_place[kRoom];
static char g_fifo[kRoom + 64];
static char g_tool[kRoom + 64];
static char g_agent[kRoom + 64];
static char g_starter[kRoom + 64];
static char g_hostfile[kRoom + 64];
static char g_preloaded[kRoom + 64];
static bool g_has_others;        // there are nodes other than the first
static char g_default[kRoom];    // where one process runs by default
static char g_other[300] = "*";  // a node where one process is not by default
static char g_here[kRoom];       // the directory of the first job

static const Effect kEffects[] = {
    TEXT(PMIX_WDIR, "/", "pwd", "/"),
    FLAG(PMIX_SET_SESSION_CWD, "pwd", g_here),
    {"PMIX_PREFIX", PMIX_PREFIX, PMIX_STRING, g_place, "", "from the prefix",
     kOne, NULL, "effects-tool"},
    TEXT(PMIX_HOST, g_other, HOST, g_other),
    TEXT(PMIX_HOSTFILE, g_hostfile, HOST, g_other),
    TEXT(PMIX_ADD_HOST, g_other, HOST, g_other),
    TEXT(PMIX_ADD_HOSTFILE, g_hostfile, HOST, g_other),
    FLAG(PMIX_PRELOAD_BIN, "readlink /proc/$$/exe", "*/programs/*"),
    TEXT(PMIX_PRELOAD_FILES, g_preloaded, "cat $CANOPY_JOB_DIR/files/preloaded",
         "from a copy"),
    {"PMIX_PPR", PMIX_PPR, PMIX_STRING, "1:node", HOST, "*", kSpread, NULL,
     NULL},
    {"PMIX_PPR", PMIX_PPR, PMIX_STRING, "2:node", HOST, "*", kTogether, NULL,
     NULL},
    {"PMIX_MAPBY", PMIX_MAPBY, PMIX_STRING, "node", HOST, "*", kSpread, NULL,
     NULL},
    {"PMIX_RANKBY", PMIX_RANKBY, PMIX_STRING, "slot",
     "echo $PMIX_RANK $PMIX_HOSTNAME", "*", kPair, "node", NULL},
    {"PMIX_NO_PROCS_ON_HEAD", PMIX_NO_PROCS_ON_HEAD, PMIX_BOOL, &g_has_others,
     HOST, "*", kElsewhere, NULL, NULL},
    TEXT(PMIX_BINDTO, "hwthread:overload-allowed", "nproc", "1"),
    TEXT(PMIX_CPU_LIST, "0",
         "sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status", "0"),
    FLAG(PMIX_INDEX_ARGV, "tr '\\0' '\\n' </proc/$$/cmdline | head -1", "*-0"),
    TEXT(PMIX_EXEC_AGENT, g_agent, "echo $AGENT", "executes"),
    TEXT(PMIX_FORKEXEC_AGENT, g_starter, "echo $AGENT", "starts"),
    EDIT(PMIX_SET_ENVAR, &kEdit, VARIABLE, "x"),
    TEXT(PMIX_UNSET_ENVAR, "CONFORMANCE", "echo ${CONFORMANCE-unset}", "unset"),
    EDIT(PMIX_ADD_ENVAR, &kAdded, "echo $CONFORMANCE_ADDED", "x"),
    EDIT(PMIX_PREPEND_ENVAR, &kEdit, VARIABLE, "x:old"),
    EDIT(PMIX_APPEND_ENVAR, &kEdit, VARIABLE, "old:x"),
    EDIT(PMIX_FIRST_ENVAR, &kEdit, VARIABLE, "x:old"),
    // The process fails once.
    FLAG(PMIX_JOB_CONTINUOUS,
         "mkdir $PLACE/failed 2>/dev/null && exit 3; rmdir $PLACE/failed; "
         "echo restarted",
         "restarted"),
    // The process fails two times.
    {"PMIX_MAX_RESTARTS", PMIX_MAX_RESTARTS, PMIX_UINT32, &kRestarts,
     "echo >>$PLACE/runs; test $(wc -l <$PLACE/runs) = 3 || exit 3; "
     "rm $PLACE/runs; echo restarted twice",
     "restarted twice", kOne, NULL, NULL},
    // Rank 1 fails. Without the attribute, rank 0 would be ended while it
    // sleeps for a second.
    {"PMIX_JOB_RECOVERABLE", PMIX_JOB_RECOVERABLE, PMIX_BOOL, &kYes,
     "if [ $PMIX_RANK = 0 ]; then sleep 1; else echo failed; exit 3; fi; "
     "echo survived",
     "*", kTwo, NULL, NULL},
};

static const size_t kNumEffects = sizeof(kEffects) / sizeof(*kEffects);

// Makes a file in the directory of this test.
static void Make(char *path, const char *name, const char *text, mode_t mode) {
  snprintf(path, kRoom + 64, "%s/%s", g_place, name);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  CHECK(fd >= 0, "%s: %s", path, strerror(errno));
  CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
  close(fd);
}

static void Prepare(const char *place) {
  snprintf(g_place, sizeof(g_place), "%s", place);
  snprintf(g_fifo, sizeof(g_fifo), "%s/reports", place);
  CHECK(mkfifo(g_fifo, 0600) == 0, "%s: %s", g_fifo, strerror(errno));
  Make(g_tool, "effects-tool", "#!/bin/sh\necho from the prefix >$OUT\n", 0755);
  Make(g_agent, "agent", "#!/bin/sh\nAGENT=executes exec \"$@\"\n", 0755);
  Make(g_starter, "starter", "#!/bin/sh\nAGENT=starts \"$@\"\n", 0755);
  Make(g_preloaded, "preloaded", "from a copy\n", 0644);
  CHECK(getcwd(g_here, sizeof(g_here)) != NULL, "%s", strerror(errno));
}

// --------------------------------------------------------------- spawning ---

typedef struct {
  pmix_app_t app;
  char *argv[4];
  char *env[4];
  char script[1024];
  char out[kRoom + 128];
  char place[kRoom + 64];
} Job;

static void Describe(const Effect *effect, int procs, Job *job) {
  memset(job, 0, sizeof(*job));
  snprintf(job->script, sizeof(job->script), "exec >$OUT; %s", effect->script);
  snprintf(job->out, sizeof(job->out), "OUT=%s", g_fifo);
  snprintf(job->place, sizeof(job->place), "PLACE=%s", g_place);
  job->argv[0] = (char *)(effect->program ? effect->program : "/bin/sh");
  job->argv[1] = effect->program ? NULL : (char *)"-c";
  job->argv[2] = job->script;
  job->env[0] = job->out;
  job->env[1] = job->place;
  job->env[2] = (char *)"CONFORMANCE=old";
  PMIX_APP_CONSTRUCT(&job->app);
  job->app.cmd = job->argv[0];
  job->app.argv = job->argv;
  job->app.env = job->env;
  job->app.cwd = (char *)"/usr";
  job->app.maxprocs = procs;
}

static size_t Attributes(const Effect *effect, pmix_info_t *info) {
  size_t count = 0;
  if (effect->key != NULL) {
    PMIX_INFO_LOAD(&info[count], effect->key, effect->value, effect->type);
    PMIX_INFO_REQUIRED(&info[count]);
    ++count;
  }
  if (effect->map_by != NULL) {
    PMIX_INFO_LOAD(&info[count++], PMIX_MAPBY, effect->map_by, PMIX_STRING);
  }
  return count;
}

// Reads the given number of lines into `text`: processes write one line each.
static void Read(int fd, int lines, char *text, size_t room) {
  size_t size = 0;
  while (lines > 0) {
    CHECK(size + 1 < room, "too long: %s", text);
    CHECK(read(fd, text + size, 1) == 1, "%s", strerror(errno));
    if (text[size++] == '\n') --lines;
  }
  text[size] = '\0';
}

static int Procs(const Effect *effect) {
  switch (effect->shape) {
    case kTogether:
    case kTwo:
      return 2;
    case kSpread:
      return g_nodes < 2 ? 1 : 2;
    case kPair:
      return 2 * (int)g_nodes;
    default:
      return 1;
  }
}

// --------------------------------------------------------------- comparing ---

static void Compare(const Effect *effect, char *text) {
  char *lines[kMaxProcs] = {NULL};
  const char *hosts[kMaxProcs] = {NULL};
  char *rest = text;
  for (int i = 0; i < Procs(effect); ++i) lines[i] = strsep(&rest, "\n");
  switch (effect->shape) {
    case kOne:
      CHECK(fnmatch(effect->want, lines[0], 0) == 0, "%s gives '%s', not '%s'",
            effect->name, lines[0], effect->want);
      break;
    case kElsewhere:
      CHECK(!g_has_others || strcmp(lines[0], g_default) != 0, "%s: on %s",
            effect->name, lines[0]);
      break;
    case kTogether:
      CHECK(strcmp(lines[0], lines[1]) == 0, "%s: on '%s' and '%s'",
            effect->name, lines[0], lines[1]);
      break;
    case kTwo:
    case kSpread:
      CHECK(lines[1] == NULL || strcmp(lines[0], lines[1]) != 0,
            "%s: two times '%s'", effect->name, lines[0]);
      break;
    case kPair:
      for (int i = 0; i < Procs(effect); ++i) {
        hosts[atoi(lines[i])] = lines[i] + 2;
      }
      CHECK(strcmp(hosts[0], hosts[1]) == 0, "%s: ranks on %s and %s",
            effect->name, hosts[0], hosts[1]);
      break;
  }
}

// Spawns the script of `effect`, with its attribute for the job or, if
// `of_app`, for the application. `fd` is the pipe that the script writes to.
static void Try(const Effect *effect, bool of_app, int fd, char *text) {
  Job job;
  pmix_info_t info[2];
  const size_t count = Attributes(effect, info);
  Describe(effect, Procs(effect), &job);
  if (of_app) {
    job.app.info = info;
    job.app.ninfo = count;
    ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, NULL, 0, &job.app, 1, OnSpawned);
  } else {
    OK(PMIx_Spawn(info, count, &job.app, 1, NULL));
  }
  Read(fd, Procs(effect), text, kRoom);
}

// Chooses a node on which a process runs only by request.
static void ChooseNode(int fd) {
  static const Effect kPlain = {.script = HOST};
  char text[kRoom];
  Try(&kPlain, false, fd, text);
  text[strcspn(text, "\n")] = '\0';
  snprintf(g_default, sizeof(g_default), "%s", text);
  g_has_others = g_nodes > 1;
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t proc = ProcOf(rank);
    char *host = MustGetText(&proc, PMIX_HOSTNAME, NULL);
    if (g_nodes == 1 || strcmp(host, text) != 0) {
      snprintf(g_other, sizeof(g_other), "%s", host);
    }
    free(host);
  }
  snprintf(text, sizeof(text), "%s\n", g_other);
  Make(g_hostfile, "hosts", text, 0644);
}

// A model whose environment the host does not know is refused.
static void UnknownModel(void) {
  char program[] = "true";
  char *argv[2];
  pmix_app_t app = Program(program, argv);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_PERSONALITY, "no such model", PMIX_STRING);
  PMIX_INFO_REQUIRED(&info);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Spawn(&info, 1, &app, 1, NULL));
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Spawn_nb, &info, 1, &app, 1, OnSpawned);
}

// A tool takes no slots, so it runs on nodes whose slots are all taken by other
// jobs.
static void BesideFullNodes(void) {
  char program[] = "true";
  char *argv[2];
  pmix_app_t app = Program(program, argv);
  Directives tool = Flag(PMIX_NO_OVERSUBSCRIBE);
  AddFlag(&tool, PMIX_SPAWN_TOOL, true);
  OK(PMIx_Spawn(tool.info, tool.count, &app, 1, NULL));
  ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, tool.info, tool.count, &app, 1,
          OnSpawned);
}

static void TryAll(void) {
  const int fd = open(g_fifo, O_RDWR);
  CHECK(fd >= 0, "%s: %s", g_fifo, strerror(errno));
  char text[kRoom];
  ChooseNode(fd);
  for (size_t i = 0; i < kNumEffects; ++i) {
    for (int of_app = 0; of_app < 2; ++of_app) {
      Try(&kEffects[i], of_app, fd, text);
      Compare(&kEffects[i], text);
    }
  }
  close(fd);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no directory");
  if (g_self.rank == g_size - 1) {
    Prepare(argv[3]);
    TryAll();
    UnknownModel();
    BesideFullNodes();
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
