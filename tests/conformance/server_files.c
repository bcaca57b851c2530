// The rendezvous files of a server that is both the system's and a launcher's:
// TOOL-01 to TOOL-05. Usage: server_files 1 1.
#include <dirent.h>
#include <limits.h>
#include <pmix_server.h>
#include <sys/stat.h>

#include "check.h"

enum { kFiles = 3 };

static char g_place[] = "/tmp/canopy-files-XXXXXX";

static const char *InPlace(const char *name) {
  static char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/%s", g_place, name);
  return path;
}

// The umask of this process. Files have the permissions that it allows.
static mode_t g_umask;

// Checks a file that names the server and that only its owner may write.
static void MustName(const char *path) {
  char line[512] = "";
  struct stat info;
  CHECK(stat(path, &info) == 0, "there is no %s", path);
  CHECK((info.st_mode & 0777) == (0644 & ~g_umask), "%s has mode %o", path,
        info.st_mode);
  CHECK(info.st_uid == geteuid(), "%s is another's", path);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL, "no line");
  CHECK(strncmp(line, "the.server.", strlen("the.server.")) == 0, "%s has %s",
        path, line);
  fclose(file);
}

// Counts the rendezvous files for tools anywhere below `directory`, and checks
// them.
static int CountTools(const char *directory) {
  char host[256];
  char prefix[300];
  char path[PATH_MAX];
  int count = 0;
  gethostname(host, sizeof(host));
  snprintf(prefix, sizeof(prefix), "pmix.%s.tool", host);
  DIR *entries = opendir(directory);
  CHECK(entries != NULL, "no %s", directory);
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
      MustName(path);
      ++count;
    } else if (entry->d_type == DT_DIR) {
      count += CountTools(path);
    }
  }
  closedir(entries);
  return count;
}

static Directives Options(void) {
  static char place[PATH_MAX];
  static char file[PATH_MAX];
  snprintf(place, sizeof(place), "%s", g_place);
  snprintf(file, sizeof(file), "%s", InPlace("launcher"));
  Directives list = Flag(PMIX_SERVER_TOOL_SUPPORT);
  AddFlag(&list, PMIX_SERVER_SYSTEM_SUPPORT, true);
  AddText(&list, PMIX_SERVER_NSPACE, "the.server");
  AddText(&list, PMIX_SERVER_TMPDIR, place);
  AddText(&list, PMIX_SYSTEM_TMPDIR, place);
  AddText(&list, PMIX_LAUNCHER_RENDEZVOUS_FILE, file);
  return list;
}

static void Serve(void) {
  char host[256];
  char system[300];
  gethostname(host, sizeof(host));
  snprintf(system, sizeof(system), "pmix.sys.%s", host);
  Directives list = Options();
  pmix_server_module_t module;
  memset(&module, 0, sizeof(module));
  OK(PMIx_server_init(&module, list.info, list.count));
  MustName(InPlace(system));
  MustName(InPlace("launcher"));
  const int count = CountTools(g_place);
  CHECK(count == kFiles, "%d files for tools", count);
  OK(PMIx_server_finalize());
  CHECK(CountTools(g_place) == 0, "files of a server that is gone");
  CHECK(access(InPlace(system), F_OK) != 0, "the system server's is there");
  CHECK(access(InPlace("launcher"), F_OK) != 0, "the launcher's is there");
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(mkdtemp(g_place) != NULL, "no directory");
  const mode_t masks[] = {022, 027, 077};
  for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); ++i) {
    umask(g_umask = masks[i]);
    Serve();
  }
  CHECK(rmdir(g_place) == 0, "more in %s", g_place);
  g_self.rank = 0;
  return Kept();
}
