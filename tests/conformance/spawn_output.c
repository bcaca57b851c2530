// How the output of spawned processes is shown, and to which files it is
// written, if each application has attributes of its own. Words: a directory
// for files, and the function that spawns, "blocking" or "nonblocking". run.py
// checks the output that the launcher has shown and written.
#include "children.h"

enum { kApps = 8, kMaxAttributes = 4 };

typedef struct {
  const char *key;
  const char *text;  // null: the attribute is a flag
} Attribute;

static char g_both[4200];
static char g_named[4200];
static char g_directory[4200];
static char g_iof[4200];
static char g_iof_directory[4200];

// Each application writes its own name to both streams.
static const struct {
  const char *name;
  Attribute attributes[kMaxAttributes];
} kForms[kApps] = {
    {"tagged", {{PMIX_TAG_OUTPUT, NULL}, {PMIX_TIMESTAMP_OUTPUT, NULL}}},
    {"merged",
     {{PMIX_MERGE_STDERR_STDOUT, NULL}, {PMIX_OUTPUT_TO_FILE, g_both}}},
    {"named",
     {{PMIX_IOF_OUTPUT_TO_FILE, g_named},
      {PMIX_IOF_FILE_PATTERN, NULL},
      {PMIX_IOF_FILE_ONLY, NULL}}},
    {"element", {{PMIX_IOF_XML_OUTPUT, NULL}, {PMIX_IOF_OUTPUT_RAW, NULL}}},
    {"ranked",
     {{PMIX_IOF_RANK_OUTPUT, NULL}, {PMIX_OUTPUT_TO_DIRECTORY, g_directory}}},
    {"iof-tagged",
     {{PMIX_IOF_TAG_OUTPUT, NULL}, {PMIX_IOF_TIMESTAMP_OUTPUT, NULL}}},
    {"iof-merged",
     {{PMIX_IOF_MERGE_STDERR_STDOUT, NULL}, {PMIX_IOF_OUTPUT_TO_FILE, g_iof}}},
    {"iof-filed",
     {{PMIX_IOF_OUTPUT_TO_DIRECTORY, g_iof_directory},
      {PMIX_IOF_FILE_ONLY, NULL}}},
};

static void Describe(size_t index, pmix_app_t *app, Directives *own) {
  static char script[] = "echo $0 out; echo $0 err >&2";
  static char *argv[kApps][5];
  char *words[] = {(char *)"sh", (char *)"-c", script,
                   (char *)kForms[index].name, NULL};
  memcpy(argv[index], words, sizeof(words));
  PMIX_APP_CONSTRUCT(app);
  app->cmd = argv[index][0];
  app->argv = argv[index];
  app->maxprocs = 1;
  own->count = 0;
  for (size_t i = 0; i < kMaxAttributes; ++i) {
    const Attribute *attribute = &kForms[index].attributes[i];
    if (attribute->key == NULL) break;
    if (attribute->text == NULL) {
      AddFlag(own, attribute->key, true);
    } else {
      AddText(own, attribute->key, attribute->text);
    }
    PMIX_INFO_REQUIRED(&own->info[i]);
  }
  app->info = own->info;
  app->ninfo = own->count;
}

static void SpawnAll(bool nonblocking) {
  pmix_app_t apps[kApps];
  Directives own[kApps];
  for (size_t i = 0; i < kApps; ++i) Describe(i, &apps[i], &own[i]);
  if (nonblocking) {
    ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, NULL, 0, apps, kApps, OnSpawned);
  } else {
    OK(PMIx_Spawn(NULL, 0, apps, kApps, NULL));
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 4, "no directory or function");
  snprintf(g_both, sizeof(g_both), "%s/both", argv[3]);
  snprintf(g_named, sizeof(g_named), "%s/rank-%%r", argv[3]);
  snprintf(g_directory, sizeof(g_directory), "%s/directory", argv[3]);
  snprintf(g_iof, sizeof(g_iof), "%s/iof", argv[3]);
  snprintf(g_iof_directory, sizeof(g_iof_directory), "%s/iof-directory",
           argv[3]);
  if (g_self.rank == 0) SpawnAll(strcmp(argv[4], "nonblocking") == 0);
  return Finish();
}
