// A host that is compiled with the headers of OpenPMIx 2, whose module has 21
// functions. The library must not take the memory behind the module for further
// functions. The host starts itself as the only rank of a job, which connects
// and ends.
#include <errno.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kFewest = 21, kBehind = 11 };

static void Wrong(void) {
  fprintf(stderr, "a function was called that is none of the module\n");
  _exit(1);
}

// The module and the memory behind it. The symbol few_module names the module
// alone, as a host's variable does.
static struct {
  void *module[kFewest];
  void (*behind[kBehind])(void);
} g_memory __attribute__((used)) = {{NULL},
                                    {Wrong, Wrong, Wrong, Wrong, Wrong, Wrong,
                                     Wrong, Wrong, Wrong, Wrong, Wrong}};
__asm__(
    ".set few_module, g_memory\n"
    ".type few_module, @object\n"
    ".size few_module, 21 * 8\n");

#define OK(call)                                                          \
  do {                                                                    \
    const pmix_status_t rc_ = (call);                                     \
    if (rc_ != PMIX_SUCCESS && rc_ != PMIX_OPERATION_SUCCEEDED) {         \
      fprintf(stderr, "line %d: %s\n", __LINE__, PMIx_Error_string(rc_)); \
      _exit(1);                                                           \
    }                                                                     \
  } while (0)

static int Rank(void) {
  pmix_proc_t self;
  OK(PMIx_Init(&self, NULL, 0));
  OK(PMIx_Fence(NULL, 0, NULL, 0));
  OK(PMIx_Finalize(NULL, 0));
  return 0;
}

static void Register(pmix_proc_t *proc) {
  pmix_info_t infos[2];
  const uint32_t one = 1;
  PMIX_INFO_LOAD(&infos[0], PMIX_JOB_SIZE, &one, PMIX_UINT32);
  PMIX_INFO_LOAD(&infos[1], PMIX_LOCAL_SIZE, &one, PMIX_UINT32);
  PMIX_PROC_LOAD(proc, "few", 0);
  OK(PMIx_server_register_nspace(proc->nspace, 1, infos, 2, NULL, NULL));
  OK(PMIx_server_register_client(proc, getuid(), getgid(), NULL, NULL, NULL));
}

static int RunRank(const pmix_proc_t *proc, char *program) {
  char **env = NULL;
  OK(PMIx_server_setup_fork(proc, &env));
  const pid_t pid = fork();
  if (pid == 0) {
    for (char **entry = env; entry != NULL && *entry != NULL; ++entry) {
      putenv(*entry);
    }
    execl(program, program, "rank", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "rank") == 0) return Rank();
  pmix_proc_t proc;
  OK(PMIx_server_init((pmix_server_module_t *)g_memory.module, NULL, 0));
  Register(&proc);
  const int code = RunRank(&proc, argv[0]);
  OK(PMIx_server_finalize());
  if (code == 0) printf("few functions ok\n");
  return code;
}
