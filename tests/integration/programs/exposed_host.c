/* A resource manager run by root, whose server uses a directory that the user
 * of the job owns, as Slurm's does.
 *
 *   exposed_host USER DIRECTORY ROUNDS PROGRAM [ARGUMENT...]
 *
 * Starts the server ROUNDS times, each time with a job of one process of USER
 * that runs PROGRAM, and ends it. Prints "exposed_host ok ROUNDS" if all of
 * that has worked each time, and otherwise the failures. Exits with the first
 * exit code that is not 0. */
#define _GNU_SOURCE
#include <grp.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char kJob[] = "exposed";

static int failures;

/* Returns whether a call succeeded. A failure does not end the program, because
 * a user who tampers with the server's directory may cause it. */
static bool works(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return true;
  if (failures++ < 5) {
    fprintf(stderr, "exposed_host: %s: %s\n", what, PMIx_Error_string(status));
  }
  return false;
}

static bool register_job(uid_t user) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  char *nodes, *ranks;
  if (!works(PMIx_generate_regex(host, &nodes), "node map")) return false;
  if (!works(PMIx_generate_ppn("0", &ranks), "process map")) return false;
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, ranks, PMIX_STRING);
  free(nodes);
  free(ranks);
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, kJob, 0);
  return works(PMIx_server_register_nspace(proc.nspace, 1, info, 2, NULL, NULL),
               "job") &&
         works(PMIx_server_register_client(&proc, user, user, NULL, NULL, NULL),
               "process");
}

static int run(uid_t user, char **argv) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, kJob, 0);
  char **env = NULL;
  for (char **entry = environ; *entry != NULL; ++entry) {
    pmix_status_t status;
    PMIX_ARGV_APPEND(status, env, *entry);
    if (!works(status, "copy of the environment")) return 0;
  }
  if (!works(PMIx_server_setup_fork(&proc, &env), "environment")) return 0;
  const pid_t pid = fork();
  if (pid == 0) {
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) {
      _exit(126);
    }
    execvpe(argv[0], argv, env);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int serve(uid_t user, const char *directory, char **argv) {
  static pmix_server_module_t module;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
  if (!works(PMIx_server_init(&module, &info, 1), "start")) return 0;
  int code = 0;
  if (register_job(user)) code = run(user, argv);
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, kJob, 0);
  PMIx_server_deregister_client(&proc, NULL, NULL);
  PMIx_server_deregister_nspace(proc.nspace, NULL, NULL);
  works(PMIx_server_finalize(), "end");
  return code;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const uid_t user = (uid_t)atoi(argv[1]);
  const int rounds = atoi(argv[3]);
  int code = 0;
  for (int i = 0; i < rounds; ++i) {
    const int one = serve(user, argv[2], argv + 4);
    if (code == 0) code = one;
  }
  if (failures == 0) printf("exposed_host ok %d\n", rounds);
  return code;
}
