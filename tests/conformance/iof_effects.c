// The effects of attributes of PMIx_IOF_pull, and of attributes of PMIx_Spawn
// that concern pulled output. Rank 0 spawns jobs that wait for a line of input,
// and pulls their output. run.py checks the output of canopy run.
#include <errno.h>
#include <limits.h>
#include <pmix_tool.h>
#include <sys/stat.h>

#include "children.h"

#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif

// A directive of this host: the puller gets only the output that is in the
// job's cache.
#define ONLY_CACHED "canopy.iof.only_cached"

enum { kRoom = 1 << 21, kCache = 64, kManyLines = 150000 };

// The output that one puller has received.
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *text;
  size_t size;
  size_t first;  // bytes of the first callback
  bool over;
  bool held;  // the next callback waits until this is false
  size_t handle;
} Output;

static Output *g_pulled[64];
static size_t g_num_pulled;
static Output *volatile g_expected;  // output whose puller has no number yet

static Output *NewOutput(bool held) {
  Output *output = calloc(1, sizeof(*output));
  CHECK(output != NULL, "no memory");
  output->text = calloc(1, kRoom);
  CHECK(output->text != NULL, "no memory");
  pthread_mutex_init(&output->lock, NULL);
  pthread_cond_init(&output->changed, NULL);
  output->held = held;
  return output;
}

static Output *OfHandle(size_t handle) {
  for (size_t i = 0; i < g_num_pulled; ++i) {
    if (g_pulled[i]->handle == handle) return g_pulled[i];
  }
  g_expected->handle = handle;
  return g_expected;
}

static bool IsEnd(const pmix_proc_t *source, const pmix_info_t info[],
                  size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_IOF_COMPLETE)) {
      return source->rank == PMIX_RANK_WILDCARD;
    }
  }
  return false;
}

static void OnOutput(size_t handle, pmix_iof_channel_t channel,
                     pmix_proc_t *source, pmix_byte_object_t *payload,
                     pmix_info_t info[], size_t ninfo) {
  (void)channel;
  Output *const output = OfHandle(handle);
  pthread_mutex_lock(&output->lock);
  CHECK(output->size + payload->size < kRoom, "more output than was written");
  if (payload->size > 0) {
    memcpy(output->text + output->size, payload->bytes, payload->size);
  }
  if (output->size == 0) output->first = payload->size;
  output->size += payload->size;
  output->over |= IsEnd(source, info, ninfo);
  pthread_cond_broadcast(&output->changed);
  while (output->held) pthread_cond_wait(&output->changed, &output->lock);
  pthread_mutex_unlock(&output->lock);
}

static void AwaitText(Output *output, const char *text) {
  pthread_mutex_lock(&output->lock);
  while (strstr(output->text, text) == NULL) {
    CHECK(!output->over, "the output ends without '%s'", text);
    pthread_cond_wait(&output->changed, &output->lock);
  }
  pthread_mutex_unlock(&output->lock);
}

static void AwaitOutput(Output *output) {
  pthread_mutex_lock(&output->lock);
  while (output->size == 0) pthread_cond_wait(&output->changed, &output->lock);
  pthread_mutex_unlock(&output->lock);
}

static void AwaitEnd(Output *output) {
  pthread_mutex_lock(&output->lock);
  while (!output->over) pthread_cond_wait(&output->changed, &output->lock);
  pthread_mutex_unlock(&output->lock);
}

static void LetGo(Output *output) {
  pthread_mutex_lock(&output->lock);
  output->held = false;
  pthread_cond_broadcast(&output->changed);
  pthread_mutex_unlock(&output->lock);
}

static Output *Pull(const pmix_proc_t *proc, const Directives *with,
                    bool held) {
  Output *const output = NewOutput(held);
  g_expected = output;
  const pmix_status_t handle =
      PMIx_IOF_pull(proc, 1, with->info, with->count, PMIX_FWD_STDOUT_CHANNEL,
                    OnOutput, NULL, NULL);
  CHECK(handle > 0, "pull: %s", PMIx_Error_string(handle));
  output->handle = (size_t)handle;
  g_pulled[g_num_pulled++] = output;
  return output;
}

// ---------------------------------------------------------------- the job ---

static pmix_nspace_t g_spawned;

static void OnJob(pmix_status_t status, char nspace[], void *call) {
  if (status == PMIX_SUCCESS) PMIX_LOAD_NSPACE(g_spawned, nspace);
  OnSpawned(status, nspace, call);
}

// Spawns a script whose output may be pulled and whose input is pushed.
static pmix_proc_t SpawnScript(bool nonblocking, const char *script,
                               const Directives *more) {
  char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  Directives with = Flag(PMIX_FWD_STDOUT);
  AddFlag(&with, PMIX_SPAWN_CHILD_SEP, true);
  pmix_info_t *const input = NextInfo(&with, PMIX_FWD_STDIN);
  input->value.type = PMIX_PROC_RANK;
  input->value.data.rank = 0;
  for (size_t i = 0; i < more->count; ++i) {
    with.info[with.count++] = more->info[i];
  }
  if (nonblocking) {
    ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, with.info, with.count, &app, 1, OnJob);
  } else {
    OK(PMIx_Spawn(with.info, with.count, &app, 1, g_spawned));
  }
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_spawned, 0);
  return proc;
}

static const Directives kNone = {.count = 0};

static pmix_proc_t SpawnPlain(const char *script) {
  return SpawnScript(false, script, &kNone);
}

static void Go(const pmix_proc_t *proc) {
  char line[] = "go\n";
  pmix_byte_object_t bytes = {line, strlen(line)};
  OK(PMIx_IOF_push(proc, 1, &bytes, NULL, 0, NULL, NULL));
}

// --------------------------------------------------------------- formats ---

// Each format changes the line that a callback gets.
static void Formats(void) {
  const pmix_proc_t proc = SpawnPlain("read x; echo formatted");
  Directives with = Flag(PMIX_IOF_XML_OUTPUT);
  Output *const xml = Pull(&proc, &with, false);
  with = Flag(PMIX_IOF_TIMESTAMP_OUTPUT);
  Output *const timed = Pull(&proc, &with, false);
  with = Flag(PMIX_IOF_TAG_OUTPUT);
  Output *const tagged = Pull(&proc, &with, false);
  with = Flag(PMIX_IOF_RANK_OUTPUT);
  Output *const ranked = Pull(&proc, &with, false);
  Go(&proc);
  char text[PMIX_MAX_NSLEN + 100];
  snprintf(text, sizeof(text),
           "<stdout nspace=\"%s\" rank=\"0\">formatted</stdout>\n",
           proc.nspace);
  AwaitText(xml, text);
  snprintf(text, sizeof(text), "[%s,0]<stdout>: formatted\n", proc.nspace);
  AwaitText(tagged, text);
  AwaitText(ranked, "[0]<stdout>: formatted\n");
  AwaitText(timed, "<stdout>: formatted\n");
  CHECK(strstr(timed->text, "<stdout>") != timed->text, "no time");
}

// The library of a puller without a callback writes to its own streams, and
// also parts of lines if this is requested.
static void PartsOfLines(void) {
  char text[64] = "";
  int pipes[2];
  CHECK(pipe(pipes) == 0, "%s", strerror(errno));
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(pipes[1], STDOUT_FILENO);
  const pmix_proc_t proc = SpawnPlain("read x; printf start; read x; echo");
  const Directives raw = Flag(PMIX_IOF_OUTPUT_RAW);
  const pmix_status_t handle = PMIx_IOF_pull(
      &proc, 1, raw.info, raw.count, PMIX_FWD_STDOUT_CHANNEL, NULL, NULL, NULL);
  CHECK(handle >= 0, "pull: %s", PMIx_Error_string(handle));
  Go(&proc);
  for (size_t size = 0; strcmp(text, "start") != 0; ++size) {
    CHECK(size < sizeof(text) - 1, "it is %s", text);
    CHECK(read(pipes[0], text + size, 1) == 1, "%s", strerror(errno));
  }
  OK(PMIx_IOF_deregister((size_t)handle, NULL, 0, NULL, NULL));
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(pipes[0]);
  close(pipes[1]);
  Go(&proc);
}

// ------------------------------------------------------------- buffering ---

// A job writes a line, and a second line when the first has arrived at another
// puller. The buffering puller gets both at once.
static void GetsBothAtOnce(const Directives *with) {
  const pmix_proc_t proc = SpawnPlain("read x; echo one; read x; echo two");
  Output *const buffered = Pull(&proc, with, false);
  Output *const plain = Pull(&proc, &kNone, false);
  Go(&proc);
  AwaitText(plain, "one\n");
  Go(&proc);
  AwaitEnd(plain);
  AwaitEnd(buffered);
  CHECK(buffered->first == strlen("one\ntwo\n"), "%zu bytes come first",
        buffered->first);
}

static void Buffers(void) {
  Directives with = {.count = 0};
  AddU32(&with, PMIX_IOF_BUFFERING_SIZE, 8);
  GetsBothAtOnce(&with);
  with.count = 0;
  AddU32(&with, PMIX_IOF_BUFFERING_TIME, 60);
  GetsBothAtOnce(&with);
}

static void MakeFifo(char *path, const char *place, const char *name) {
  snprintf(path, PATH_MAX, "%s/%s", place, name);
  CHECK(mkfifo(path, 0600) == 0, "%s", strerror(errno));
}

// Opens the pipe, waits until the other side has opened it too, and removes it.
static void Meet(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  CHECK(file != NULL, "%s", strerror(errno));
  fclose(file);
  unlink(path);
}

// A puller whose callback does not return while a job writes loses the output
// that exceeds its cache: here the oldest output.
static void LosesOldOutput(void) {
  char place[] = "/tmp/canopy-iof-XXXXXX";
  char script[2 * PATH_MAX + 100];
  char go[PATH_MAX];
  char written[PATH_MAX];
  CHECK(mkdtemp(place) != NULL, "no directory");
  MakeFifo(go, place, "go");
  MakeFifo(written, place, "written");
  snprintf(script, sizeof(script), "read x; echo first; cat %s; seq %d; : >%s",
           go, kManyLines, written);
  const pmix_proc_t proc = SpawnPlain(script);
  Directives with = {.count = 0};
  AddU32(&with, PMIX_IOF_CACHE_SIZE, 4096);
  AddFlag(&with, PMIX_IOF_DROP_OLDEST, true);
  Output *const output = Pull(&proc, &with, true);
  Go(&proc);
  AwaitOutput(output);
  Meet(go, "w");
  Meet(written, "r");
  LetGo(output);
  AwaitEnd(output);
  char last[32];
  snprintf(last, sizeof(last), "\n%d\n", kManyLines);
  CHECK(strstr(output->text, last) != NULL, "the newest output is lost");
  CHECK(strstr(output->text, "\n1000\n") == NULL, "nothing is lost");
  rmdir(place);
}

// The cache of a job holds the first bytes of its output.
static void KeepsFirstOutput(bool nonblocking) {
  Directives with = {.count = 0};
  AddU32(&with, PMIX_IOF_CACHE_SIZE, kCache);
  AddFlag(&with, PMIX_IOF_DROP_NEWEST, true);
  const pmix_proc_t proc =
      SpawnScript(nonblocking, "read x; seq 1000; read x", &with);
  Output *const early = Pull(&proc, &kNone, false);
  Go(&proc);
  AwaitText(early, "\n1000\n");
  const Directives cached = Flag(ONLY_CACHED);
  Output *const late = Pull(&proc, &cached, false);
  AwaitEnd(late);
  CHECK(late->size <= kCache, "%zu bytes", late->size);
  CHECK(strncmp(late->text, "1\n2\n3\n", 6) == 0, "it is %s", late->text);
  Go(&proc);
  AwaitEnd(early);
}

// ------------------------------------------------------------ destinations ---

// The library of a puller without a callback writes output to its own streams,
// unless the output goes only to files.
static void OnlyToFiles(void) {
  char place[] = "/tmp/canopy-iof-XXXXXX";
  char name[100];
  char path[PATH_MAX];
  CHECK(mkdtemp(place) != NULL, "no directory");
  const pmix_proc_t proc = SpawnPlain("read x; echo only in a file");
  Directives with = Flag(PMIX_IOF_FILE_ONLY);
  snprintf(name, sizeof(name), "%s/output", place);
  AddText(&with, PMIX_IOF_OUTPUT_TO_FILE, name);
  const pmix_status_t handle =
      PMIx_IOF_pull(&proc, 1, with.info, with.count, PMIX_FWD_STDOUT_CHANNEL,
                    NULL, NULL, NULL);
  CHECK(handle >= 0, "pull: %s", PMIx_Error_string(handle));
  const Directives copy = Flag(PMIX_IOF_COPY);
  Output *const output = Pull(&proc, &copy, false);
  Go(&proc);
  AwaitEnd(output);
  snprintf(path, sizeof(path), "%s.%s.0.stdout", name, proc.nspace);
  struct stat info = {.st_size = 0};
  while (stat(path, &info) != 0 || info.st_size == 0) usleep(1000);
  unlink(path);
  rmdir(place);
}

// A channel can be pulled if it was requested at the spawn.
static void Diagnostics(bool nonblocking) {
  const Directives with = Flag(PMIX_FWD_STDDIAG);
  const pmix_proc_t proc = SpawnScript(nonblocking, "read x", &with);
  const pmix_status_t handle = PMIx_IOF_pull(
      &proc, 1, NULL, 0, PMIX_FWD_STDDIAG_CHANNEL, OnOutput, NULL, NULL);
  CHECK(handle > 0, "pull: %s", PMIx_Error_string(handle));
  OK(PMIx_IOF_deregister((size_t)handle, NULL, 0, NULL, NULL));
  Go(&proc);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  if (g_self.rank == 0) {
    Formats();
    PartsOfLines();
    Buffers();
    LosesOldOutput();
    OnlyToFiles();
    for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
      KeepsFirstOutput(nonblocking);
      Diagnostics(nonblocking);
    }
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
