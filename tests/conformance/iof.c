// PMIx_IOF_pull, PMIx_IOF_deregister and PMIx_IOF_push: IOF-01 to IOF-16. Rank
// 0 pulls the output of the others, and pushes to jobs that it has spawned.
// run.py checks the output of canopy run.
#include <limits.h>
#include <pmix_tool.h>

#include "children.h"

#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif

enum { kRoom = 1 << 16 };

// The output that one puller has received.
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char text[kRoom];
  size_t size;
  int completed;  // closed channels of single processes
  bool over;      // all output has arrived
  size_t handle;
} Output;

#define OUTPUT_INIT \
  { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER }

static Output g_first = OUTPUT_INIT;
static Output g_late = OUTPUT_INIT;
static Output g_tagged = OUTPUT_INIT;
static Output g_redirected = OUTPUT_INIT;
static Output g_child = OUTPUT_INIT;
static Output g_one = OUTPUT_INIT;
static Output g_all = OUTPUT_INIT;
static Output g_own = OUTPUT_INIT;
static Output g_filed = OUTPUT_INIT;
static Output g_merged = OUTPUT_INIT;
static Output g_ranked = OUTPUT_INIT;
static Output *const g_outputs[] = {
    &g_first, &g_late, &g_tagged, &g_redirected, &g_child, &g_one,
    &g_all,   &g_own,  &g_filed,  &g_merged,     &g_ranked};
enum { kNumOutputs = sizeof(g_outputs) / sizeof(g_outputs[0]) };

// The output of the puller whose number is unknown yet: output may arrive
// before the number.
static Output *volatile g_expected;

static Output *OfHandle(size_t handle) {
  for (int i = 0; i < kNumOutputs; ++i) {
    if (g_outputs[i]->handle == handle) return g_outputs[i];
  }
  g_expected->handle = handle;
  return g_expected;
}

static bool IsComplete(const pmix_info_t info[], size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_IOF_COMPLETE)) return true;
  }
  return false;
}

// IOF-09: receives output.
static void OnOutput(size_t handle, pmix_iof_channel_t channel,
                     pmix_proc_t *source, pmix_byte_object_t *payload,
                     pmix_info_t info[], size_t ninfo) {
  Output *const output = OfHandle(handle);
  pthread_mutex_lock(&output->lock);
  CHECK(output->size + payload->size < kRoom, "more output than was written");
  memcpy(output->text + output->size, payload->bytes, payload->size);
  output->size += payload->size;
  output->text[output->size] = '\0';
  if (IsComplete(info, ninfo)) {
    if (source->rank == PMIX_RANK_WILDCARD) {
      output->over = true;
    } else {
      CHECK(channel == PMIX_FWD_STDOUT_CHANNEL, "channel %u", channel);
      ++output->completed;
    }
  }
  pthread_cond_broadcast(&output->changed);
  pthread_mutex_unlock(&output->lock);
}

// Handles output of two channels.
static void OnBoth(size_t handle, pmix_iof_channel_t channel,
                   pmix_proc_t *source, pmix_byte_object_t *payload,
                   pmix_info_t info[], size_t ninfo) {
  const bool is_end = IsComplete(info, ninfo);
  if (!is_end || source->rank == PMIX_RANK_WILDCARD) {
    OnOutput(handle, channel, source, payload, info, ninfo);
    return;
  }
  OnOutput(handle, channel, source, payload, NULL, 0);
}

static void AwaitText(Output *output, const char *text) {
  pthread_mutex_lock(&output->lock);
  while (strstr(output->text, text) == NULL) {
    pthread_cond_wait(&output->changed, &output->lock);
  }
  pthread_mutex_unlock(&output->lock);
}

static void AwaitEnd(Output *output) {
  pthread_mutex_lock(&output->lock);
  while (!output->over) pthread_cond_wait(&output->changed, &output->lock);
  pthread_mutex_unlock(&output->lock);
}

// Uses the blocking form, which returns the number of the puller.
static void Pull(Output *output, const pmix_proc_t *proc,
                 const Directives *with) {
  g_expected = output;
  const pmix_status_t handle =
      PMIx_IOF_pull(proc, 1, with->info, with->count, PMIX_FWD_STDOUT_CHANNEL,
                    OnOutput, NULL, NULL);
  CHECK(handle > 0, "pull: %s", PMIx_Error_string(handle));
  output->handle = (size_t)handle;
}

static void Write(const char *what) {
  printf("%s %u\n", what, g_self.rank);
  fflush(stdout);
}

static void AwaitAll(Output *output, const char *what) {
  char text[64];
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    snprintf(text, sizeof(text), "%s %u\n", what, rank);
    AwaitText(output, text);
  }
}

// Pulls a copy of the output of all processes (IOF-02).
static void Copies(void) {
  const Directives copy = Flag(PMIX_IOF_COPY);
  if (g_self.rank == 0) Pull(&g_first, &g_job, &copy);
  Barrier();
  Write("copied");
  if (g_self.rank == 0) AwaitAll(&g_first, "copied");
}

// Earlier output is in the cache (IOF-10), and the puller's library marks lines
// (IOF-16).
static void ComesLate(void) {
  if (g_self.rank != 0) return;
  Directives with = Flag(PMIX_IOF_COPY);
  AddU32(&with, PMIX_IOF_CACHE_SIZE, 1 << 20);
  AddFlag(&with, PMIX_IOF_DROP_NEWEST, true);
  Pull(&g_late, &g_job, &with);
  AwaitAll(&g_late, "copied");
  Directives tag = Flag(PMIX_IOF_COPY);
  AddFlag(&tag, PMIX_IOF_TAG_OUTPUT, true);
  AddFlag(&tag, PMIX_IOF_DROP_OLDEST, true);
  Pull(&g_tagged, &g_job, &tag);
  char text[PMIX_MAX_NSLEN + 64];
  snprintf(text, sizeof(text), "[%s,1]<stdout>: copied 1\n", g_self.nspace);
  AwaitText(&g_tagged, text);
}

// IOF-11: no output arrives after the puller was deregistered.
static void Ends(void) {
  if (g_self.rank == 0) {
    OK(PMIx_IOF_deregister(g_late.handle, NULL, 0, NULL, NULL));
    ANSWERS(PMIX_SUCCESS, PMIx_IOF_deregister, g_tagged.handle, NULL, 0,
            OnOperation);
    EXPECT(PMIX_ERR_NOT_FOUND,
           PMIx_IOF_deregister(g_late.handle, NULL, 0, NULL, NULL));
  }
  Barrier();
  Write("later");
  if (g_self.rank == 0) {
    AwaitAll(&g_first, "later");
    CHECK(strstr(g_late.text, "later") == NULL, "output after the end");
    OK(PMIx_IOF_deregister(g_first.handle, NULL, 0, NULL, NULL));
  }
}

// By default only the puller receives the output (IOF-08), until the puller
// ends.
static void Redirects(void) {
  const Directives none = {.count = 0};
  const pmix_proc_t last = ProcOf(g_size - 1);
  if (g_self.rank == 0) Pull(&g_redirected, &last, &none);
  Barrier();
  if (g_self.rank == last.rank) Write("redirected");
  if (g_self.rank == 0) {
    char text[64];
    snprintf(text, sizeof(text), "redirected %u\n", last.rank);
    AwaitText(&g_redirected, text);
    CHECK(strstr(g_redirected.text, "later 0") == NULL, "of another process");
    OK(PMIx_IOF_deregister(g_redirected.handle, NULL, 0, NULL, NULL));
  }
  Barrier();
  if (g_self.rank == last.rank) Write("restored");
}

static void OnRegistered(pmix_status_t status, size_t handle, void *call) {
  if (status == PMIX_SUCCESS) g_child.handle = handle;
  Answered(call, status);
}

static pmix_proc_t Spawn(char *script, int procs, const Directives *with) {
  char *argv[] = {"/bin/sh", "-c", script, NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = procs;
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(with->info, with->count, &app, 1, nspace));
  pmix_proc_t child;
  PMIX_PROC_LOAD(&child, nspace, 0);
  return child;
}

// IOF-01: only streams that were requested at the spawn can be pulled.
static void Children(void) {
  // Without this directive, the ends of the jobs would end this job.
  const Directives apart = Flag(PMIX_SPAWN_CHILD_SEP);
  pmix_proc_t child = Spawn("echo child; exec sleep 60", 1, &apart);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_IOF_pull(&child, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                       NULL, NULL));
  OK(PMIx_Abort(1, "was not to be pulled", &child, 1));
  Directives forward = Flag(PMIX_FWD_STDOUT);
  AddFlag(&forward, PMIX_FWD_STDERR, true);
  AddFlag(&forward, PMIX_FWD_STDDIAG, true);
  AddU32(&forward, PMIX_IOF_CACHE_SIZE, 4096);
  AddFlag(&forward, PMIX_SPAWN_CHILD_SEP, true);
  child = Spawn("echo child; exec sleep 60", 1, &forward);
  g_expected = &g_child;
  ANSWERS(PMIX_SUCCESS, PMIx_IOF_pull, &child, 1, NULL, 0,
          PMIX_FWD_STDOUT_CHANNEL, OnOutput, OnRegistered);
  AwaitText(&g_child, "child\n");
  OK(PMIx_Abort(1, "was pulled", &child, 1));
  AwaitEnd(&g_child);
  CHECK(g_child.completed == 1, "%d channels completed", g_child.completed);
}

// Spawns a job that prints its input until the input ends.
static pmix_proc_t SpawnCat(const char *key, pmix_rank_t target, int procs,
                            Output *output) {
  Directives with = Flag(PMIX_FWD_STDOUT);
  pmix_info_t *const input = NextInfo(&with, key);
  input->value.type = PMIX_PROC_RANK;
  input->value.data.rank = target;
  AddFlag(&with, PMIX_SPAWN_TOOL, true);
  pmix_proc_t proc = Spawn("exec cat", procs, &with);
  proc.rank = PMIX_RANK_WILDCARD;
  const Directives none = {.count = 0};
  Pull(output, &proc, &none);
  proc.rank = target;
  return proc;
}

static pmix_status_t Push(const pmix_proc_t *to, char *text,
                          const Directives *with) {
  pmix_byte_object_t bytes = {text, strlen(text)};
  return PMIx_IOF_push(to, 1, &bytes, with->info, with->count, NULL, NULL);
}

// IOF-12, IOF-13: pushes to one process, and to all.
static void Pushes(void) {
  const Directives none = {.count = 0};
  Directives end = Flag(PMIX_IOF_COMPLETE);
  AddU32(&end, PMIX_IOF_CACHE_SIZE, 4096);
  AddFlag(&end, PMIX_IOF_DROP_OLDEST, false);
  AddFlag(&end, PMIX_IOF_DROP_NEWEST, true);
  pmix_proc_t cat = SpawnCat(PMIX_FWD_STDIN, 0, 1, &g_one);
  OK(Push(&cat, "one\n", &none));
  AwaitText(&g_one, "one\n");
  pmix_byte_object_t bytes = {"two\n", 4};
  ANSWERS(PMIX_SUCCESS, PMIx_IOF_push, &cat, 1, &bytes, NULL, 0, OnOperation);
  AwaitText(&g_one, "one\ntwo\n");
  OK(PMIx_IOF_push(&cat, 1, NULL, end.info, end.count, NULL, NULL));
  AwaitEnd(&g_one);
  cat = SpawnCat(PMIX_STDIN_TGT, PMIX_RANK_WILDCARD, 2, &g_all);
  OK(Push(&cat, "all\n", &end));
  AwaitEnd(&g_all);
  CHECK(strcmp(g_all.text, "all\nall\n") == 0, "two have said '%s'",
        g_all.text);
}

static Signal g_input_ended = SIGNAL_INIT;
static pmix_nspace_t g_input_of;  // the job whose input has ended

static void OnInputEnd(size_t id, pmix_status_t status,
                       const pmix_proc_t *source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t cbfunc,
                       void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) continue;
    PMIX_LOAD_NSPACE(g_input_of, info[i].value.data.proc->nspace);
  }
  Raise(&g_input_ended, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// Pushes this process's own input, which is at its end (IOF-12). An event
// reports the end.
static void PushesItsOwn(void) {
  pmix_status_t codes[] = {PMIX_ERR_IOF_COMPLETE, PMIX_ERR_IOF_FAILURE};
  const pmix_status_t handler =
      PMIx_Register_event_handler(codes, 2, NULL, 0, OnInputEnd, NULL, NULL);
  CHECK(handler >= 0, "registration gave %d", handler);
  const pmix_proc_t cat = SpawnCat(PMIX_FWD_STDIN, 0, 1, &g_own);
  const Directives own = Flag(PMIX_IOF_PUSH_STDIN);
  OK(PMIx_IOF_push(&cat, 1, NULL, own.info, own.count, NULL, NULL));
  AwaitEnd(&g_own);
  const pmix_status_t end = WaitFor(&g_input_ended, 1);
  CHECK(end == PMIX_ERR_IOF_COMPLETE, "%d", end);
  CHECK(strcmp(g_input_of, cat.nspace) == 0, "of %s", g_input_of);
  OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
}

// The text must consist of the lines in any order.
static void HasLines(const char *what, const char *found, const char *first,
                     const char *second) {
  CHECK(strlen(found) == strlen(first) + strlen(second) &&
            strstr(found, first) != NULL && strstr(found, second) != NULL,
        "%s has '%s'", what, found);
}

// Checks that the file has exactly these lines, and removes the file.
static void InFile(const char *path, const char *first, const char *second) {
  char found[256] = "";
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "there is no %s", path);
  const size_t size = fread(found, 1, sizeof(found) - 1, file);
  found[size] = '\0';
  fclose(file);
  HasLines(path, found, first, second);
  unlink(path);
}

// Spawns a job that writes to both of its streams and ends.
static pmix_proc_t SpawnWriter(void) {
  Directives with = Flag(PMIX_FWD_STDOUT);
  AddFlag(&with, PMIX_FWD_STDERR, true);
  AddFlag(&with, PMIX_SPAWN_TOOL, true);
  // The end of its input ends the job.
  pmix_info_t *const input = NextInfo(&with, PMIX_FWD_STDIN);
  input->value.type = PMIX_PROC_RANK;
  input->value.data.rank = 0;
  return Spawn("cat; echo out; echo err >&2", 1, &with);
}

static void EndWriter(const pmix_proc_t *writer, Output *output) {
  const Directives end = Flag(PMIX_IOF_COMPLETE);
  OK(PMIx_IOF_push(writer, 1, NULL, end.info, end.count, NULL, NULL));
  AwaitEnd(output);
}

static void PullBoth(Output *output, const pmix_proc_t *proc,
                     const Directives *with) {
  g_expected = output;
  const pmix_status_t handle = PMIx_IOF_pull(
      proc, 1, with->info, with->count,
      PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, OnBoth, NULL, NULL);
  CHECK(handle > 0, "pull: %s", PMIx_Error_string(handle));
  output->handle = (size_t)handle;
}

// Checks that output is in the files that the PMIx Standard specifies for
// PMIX_IOF_OUTPUT_TO_FILE, with and without PMIX_IOF_FILE_PATTERN, and for
// PMIX_IOF_OUTPUT_TO_DIRECTORY.
static void ToFiles(void) {
  char place[] = "/tmp/canopy-iof-XXXXXX";
  char name[64];
  char path[PATH_MAX];
  CHECK(mkdtemp(place) != NULL, "no directory");
  pmix_proc_t writer = SpawnWriter();
  Directives with = {.count = 0};
  snprintf(name, sizeof(name), "%s/file", place);
  AddText(&with, PMIX_IOF_OUTPUT_TO_FILE, name);
  AddFlag(&with, PMIX_IOF_FILE_ONLY, true);
  PullBoth(&g_filed, &writer, &with);
  EndWriter(&writer, &g_filed);
  snprintf(path, sizeof(path), "%s.%s.0.stdout", name, writer.nspace);
  InFile(path, "out\n", "");
  snprintf(path, sizeof(path), "%s.%s.0.stderr", name, writer.nspace);
  InFile(path, "err\n", "");
  // PMIX_IOF_FILE_ONLY concerns only output that the library writes itself, so
  // the callback still gets the output.
  HasLines("the callback", g_filed.text, "out\n", "err\n");

  writer = SpawnWriter();
  with.count = 0;
  snprintf(name, sizeof(name), "%s/%%n-%%r", place);
  AddText(&with, PMIX_IOF_OUTPUT_TO_FILE, name);
  AddFlag(&with, PMIX_IOF_FILE_PATTERN, true);
  AddFlag(&with, PMIX_IOF_MERGE_STDERR_STDOUT, true);
  PullBoth(&g_merged, &writer, &with);
  EndWriter(&writer, &g_merged);
  snprintf(path, sizeof(path), "%s/%s-0.stdout", place, writer.nspace);
  InFile(path, "out\n", "err\n");
  HasLines("the callback", g_merged.text, "out\n", "err\n");

  writer = SpawnWriter();
  with.count = 0;
  AddText(&with, PMIX_IOF_OUTPUT_TO_DIRECTORY, place);
  AddFlag(&with, PMIX_IOF_RANK_OUTPUT, true);
  AddFlag(&with, PMIX_IOF_REDIRECT, true);
  PullBoth(&g_ranked, &writer, &with);
  EndWriter(&writer, &g_ranked);
  snprintf(path, sizeof(path), "%s/%s/rank.0/stdout", place, writer.nspace);
  InFile(path, "[0]<stdout>: out\n", "");
  snprintf(path, sizeof(path), "%s/%s/rank.0/stderr", place, writer.nspace);
  InFile(path, "[0]<stderr>: err\n", "");
  snprintf(path, sizeof(path), "%s/%s/rank.0", place, writer.nspace);
  CHECK(rmdir(path) == 0, "more in %s", path);
  snprintf(path, sizeof(path), "%s/%s", place, writer.nspace);
  CHECK(rmdir(path) == 0 && rmdir(place) == 0, "more in %s", path);
}

static void PushesRefused(void) {
  pmix_byte_object_t bytes = {"text", 4};
  pmix_proc_t nobody;
  PMIX_PROC_LOAD(&nobody, "no such job", 0);
  const pmix_proc_t first = ProcOf(0);
  // The launcher provides the input of this job (IOF-15).
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_IOF_push(&first, 1, &bytes, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_IOF_push(&nobody, 1, &bytes, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_IOF_push(&first, 1, NULL, NULL, 0, NULL, NULL));
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_IOF_push, NULL, 0, NULL, NULL, 0,
          OnOperation);
  // Ends the reading of standard input. No reading is in progress.
  const Directives end = Flag(PMIX_IOF_COMPLETE);
  ANSWERS(PMIX_SUCCESS, PMIx_IOF_push, NULL, 0, NULL, end.info, end.count,
          OnOperation);
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_IOF_deregister, 1 << 20, NULL, 0,
          OnOperation);
}

static void Refused(void) {
  const pmix_proc_t beyond = ProcOf(g_size);
  pmix_proc_t nobody;
  PMIX_PROC_LOAD(&nobody, "no such job", 0);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_IOF_pull(&g_job, 1, NULL, 0, PMIX_FWD_STDIN_CHANNEL, OnOutput,
                       NULL, NULL));
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_IOF_pull(&beyond, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                       NULL, NULL));
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_IOF_pull(&nobody, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                       NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_IOF_pull(NULL, 0, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                       NULL, NULL));
  REFUSES(PMIX_ERR_NOT_SUPPORTED, PMIx_IOF_pull, &g_job, 1, NULL, 0,
          PMIX_FWD_STDIN_CHANNEL, OnOutput, OnRegistered);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Copies();
  Barrier();
  ComesLate();
  Barrier();
  Ends();
  Barrier();
  Redirects();
  if (g_self.rank == 0) {
    Children();
    ToFiles();
    Refused();
    Pushes();
    PushesItsOwn();
    PushesRefused();
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
