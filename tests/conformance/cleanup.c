// PMIx_Job_control: registration of files that are removed when the job ends,
// normally or with a failure (JOB-10). Words: the directory to work in, then
// "well" or "badly". run.py checks the remaining files.
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

static char g_top[512];  // this rank's own directory

static void Join(char *path, const char *name) {
  snprintf(path, 700, "%s/%s", g_top, name);
}

static void MakeFile(const char *name) {
  char path[700];
  Join(path, name);
  const int fd = open(path, O_CREAT | O_WRONLY, 0600);
  CHECK(fd >= 0, "%s", path);
  close(fd);
}

static void MakeDirectory(const char *name) {
  char path[700];
  Join(path, name);
  CHECK(mkdir(path, 0700) == 0, "%s", path);
}

static pmix_status_t Register(const char *key, const char *name,
                              const Directives *with) {
  char path[700];
  Join(path, name);
  Directives all = *with;
  AddText(&all, key, path);
  return PMIx_Job_control(&g_self, 1, all.info, all.count, NULL, NULL);
}

static void OnDone(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                   void *cbdata, pmix_release_cbfunc_t release,
                   void *release_cbdata) {
  (void)info, (void)ninfo;
  if (release != NULL) release(release_cbdata);
  Raise(cbdata, status);
}

static void Registered(void) {
  const Directives none = {.count = 0};
  const Directives recursive = Flag(PMIX_CLEANUP_RECURSIVE);
  Directives kept = Flag(PMIX_CLEANUP_RECURSIVE);
  AddFlag(&kept, PMIX_CLEANUP_LEAVE_TOPDIR, true);
  Directives empty = Flag(PMIX_CLEANUP_EMPTY);
  char ignored[700];
  Join(ignored, "tree/kept");
  Directives except = recursive;
  AddText(&except, PMIX_CLEANUP_IGNORE, ignored);
  MakeFile("file");
  MakeFile("unregistered.kept");
  MakeFile("target.kept");
  MakeDirectory("empty");
  MakeDirectory("full.kept");
  MakeFile("full.kept/file.kept");
  MakeDirectory("flat");
  MakeFile("flat/file");
  MakeDirectory("tree");
  MakeDirectory("tree/deep");
  MakeFile("tree/deep/file");
  MakeFile("tree/kept");
  MakeDirectory("top.kept");
  MakeFile("top.kept/file");
  char link[700], target[700];
  Join(link, "tree/link");
  Join(target, "target.kept");
  CHECK(symlink(target, link) == 0, "no link");
  OK(Register(PMIX_REGISTER_CLEANUP, "file", &none));
  OK(Register(PMIX_REGISTER_CLEANUP_DIR, "empty", &empty));
  OK(Register(PMIX_REGISTER_CLEANUP_DIR, "full.kept", &empty));
  OK(Register(PMIX_REGISTER_CLEANUP_DIR, "flat", &none));
  OK(Register(PMIX_REGISTER_CLEANUP_DIR, "tree", &except));
  OK(Register(PMIX_REGISTER_CLEANUP_DIR, "top.kept", &kept));
}

static void NonBlocking(void) {
  char path[700];
  MakeFile("later");
  Join(path, "later");
  Directives with = {.count = 0};
  AddText(&with, PMIX_REGISTER_CLEANUP, path);
  Signal done = SIGNAL_INIT;
  OK(PMIx_Job_control_nb(&g_self, 1, with.info, with.count, OnDone, &done));
  OK(WaitFor(&done, 1));
}

static void Refused(void) {
  const Directives none = {.count = 0};
  Directives both = Flag(PMIX_CLEANUP_RECURSIVE);
  AddFlag(&both, PMIX_CLEANUP_EMPTY, true);
  EXPECT(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES,
         Register(PMIX_REGISTER_CLEANUP_DIR, "tree", &both));
  Directives ignored = {.count = 0};
  char path[700];
  Join(path, "file");
  AddText(&ignored, PMIX_CLEANUP_IGNORE, path);
  EXPECT(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES,
         Register(PMIX_REGISTER_CLEANUP, "file", &ignored));
  Directives relative = {.count = 0};
  AddText(&relative, PMIX_REGISTER_CLEANUP, "relative/path");
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Job_control(&g_self, 1, relative.info, 1, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Job_control(&g_self, 1, none.info, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Job_control(NULL, 1, relative.info, 1, NULL, NULL));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 4, "no words");
  snprintf(g_top, sizeof(g_top), "%s/%u", argv[3], g_self.rank);
  CHECK(mkdir(g_top, 0700) == 0, "%s", g_top);
  Registered();
  NonBlocking();
  Refused();
  Barrier();
  if (strcmp(argv[4], "badly") == 0) {
    Kept();
    raise(SIGKILL);
  }
  return Finish();
}
