/* A resource manager for one node: starts N processes of a program and serves
 * them with the PMIx library, as its host.
 *
 *   manager N PROGRAM [ARGUMENT...]
 *
 * It shows everything that a host has to do: start the library's server,
 * register a job and each process, start the processes with the environment
 * that the server provides, decide the requests that only a host can decide,
 * and clean up. Exits with the first exit code that is not 0, or 128 + the
 * signal for a process that was killed.
 *
 * The library calls the functions of the module on a thread of its own, one at
 * a time. They must not block. A host of several nodes would exchange their
 * data with its peers; this one has none. */
#define _GNU_SOURCE
#include <errno.h>
#include <pmix_server.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const pmix_nspace_t job_name = "manager-job";
#define MAX_PROCS 1024

static int num_procs;
static pid_t pids[MAX_PROCS]; /* 0: not started, or ended */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int abort_code = -1; /* the status of PMIx_Abort; -1: none */

/* Ends this program after an unexpected error. */
static void check(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "manager: %s: %s\n", what, PMIx_Error_string(status));
  exit(125);
}

/* ---- Requests of the library to its host ----
 *
 * A function returns PMIX_SUCCESS if it will call `done` once, now or later, on
 * any thread; PMIX_OPERATION_SUCCEEDED if it has finished and will not call
 * `done`; and an error if it rejects the request. */

/* A process is in PMIx_Init. `object` is the argument of
 * PMIx_server_register_client: here the number of the process. */
static pmix_status_t connected(const pmix_proc_t *proc, void *object,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object, (void)done, (void)cbdata;
  return PMIX_OPERATION_SUCCEEDED;
}

/* A process is in PMIx_Finalize, and leaves it when the host has agreed. */
static pmix_status_t finalized(const pmix_proc_t *proc, void *object,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object;
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static void kill_all(int signal) {
  pthread_mutex_lock(&mutex);
  for (int rank = 0; rank < num_procs; ++rank) {
    if (pids[rank] > 0) kill(pids[rank], signal);
  }
  pthread_mutex_unlock(&mutex);
}

/* A process has called PMIx_Abort. An empty list of processes means the whole
 * job; this host ends the job for any list. */
static pmix_status_t abort_job(const pmix_proc_t *proc, void *object,
                               int status, const char message[],
                               pmix_proc_t procs[], size_t nprocs,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)object, (void)procs, (void)nprocs;
  fprintf(stderr, "manager: rank %u aborts the job with %d: %s\n", proc->rank,
          status, message);
  pthread_mutex_lock(&mutex);
  if (abort_code < 0) abort_code = status & 0xff;
  pthread_mutex_unlock(&mutex);
  done(PMIX_SUCCESS, cbdata);
  kill_all(SIGTERM);
  return PMIX_SUCCESS;
}

/* All local participants of a fence have arrived. `data` is what they have
 * committed; this function must free it. A host of several nodes gives each of
 * them the data of all, joined in any order. `done` may use the data until it
 * has called `free`. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo, char *data,
                           size_t ndata, pmix_modex_cbfunc_t done,
                           void *cbdata) {
  (void)procs, (void)nprocs, (void)info, (void)ninfo;
  done(PMIX_SUCCESS, data, ndata, cbdata, free, data);
  return PMIX_SUCCESS;
}

/* The library rejects requests for functions that are missing here, with
 * PMIX_ERR_NOT_SUPPORTED. In this program nothing is published or spawned, and
 * there is no other node to get data from. */
static pmix_server_module_t module = {
    .client_connected = connected,
    .client_finalized = finalized,
    .abort = abort_job,
    .fence_nb = fence,
};

/* ---- The job ---- */

/* Registers the data that processes of the job may get. Most of it follows from
 * two maps: the nodes, and the ranks on each of them. */
static void register_job(void) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  char *ranks = calloc(num_procs, 8);
  for (int rank = 0; rank < num_procs; ++rank) {
    sprintf(ranks + strlen(ranks), "%s%d", rank == 0 ? "" : ",", rank);
  }
  char *node_map, *proc_map;
  check(PMIx_generate_regex(host, &node_map), "node map");
  check(PMIx_generate_ppn(ranks, &proc_map), "map of the processes");

  pmix_info_t *job;
  const uint32_t size = num_procs;
  PMIX_INFO_CREATE(job, 5);
  PMIX_INFO_LOAD(&job[0], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
  PMIX_INFO_LOAD(&job[1], PMIX_JOB_SIZE, &size, PMIX_UINT32);
  PMIX_INFO_LOAD(&job[2], PMIX_NODE_MAP, node_map, PMIX_STRING);
  PMIX_INFO_LOAD(&job[3], PMIX_PROC_MAP, proc_map, PMIX_STRING);
  PMIX_INFO_LOAD(&job[4], PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
  /* Without a callback the call blocks until the registration is complete. */
  check(PMIx_server_register_nspace(job_name, num_procs, job, 5, NULL, NULL),
        "register the job");
  PMIX_INFO_FREE(job, 5);
  free(proc_map);
  free(node_map);
  free(ranks);
}

/* Starts one process. Registers the user that may claim to be that rank, and
 * sets up the environment. */
static void start(int rank, char *argv[]) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job_name, rank);
  check(PMIx_server_register_client(&proc, getuid(), getgid(),
                                    (void *)(intptr_t)rank, NULL, NULL),
        "register a process");
  char **env = NULL;
  PMIX_ARGV_COPY(env, environ);
  check(PMIx_server_setup_fork(&proc, &env), "environment of a process");
  const pid_t pid = fork();
  if (pid == 0) {
    execvpe(argv[0], argv, env);
    fprintf(stderr, "manager: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
  PMIX_ARGV_FREE(env);
  pthread_mutex_lock(&mutex);
  pids[rank] = pid;
  pthread_mutex_unlock(&mutex);
}

/* Waits for all processes. Ends the others when the first one has failed. */
static int wait_for_all(void) {
  int code = 0;
  for (int left = num_procs; left > 0; --left) {
    int status;
    const pid_t pid = wait(&status);
    pthread_mutex_lock(&mutex);
    for (int rank = 0; rank < num_procs; ++rank) {
      if (pids[rank] == pid) pids[rank] = 0;
    }
    pthread_mutex_unlock(&mutex);
    const int failure =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (failure != 0 && code == 0) {
      code = failure;
      kill_all(SIGTERM);
    }
  }
  return abort_code < 0 ? code : abort_code;
}

int main(int argc, char *argv[]) {
  num_procs = argc < 3 ? 0 : atoi(argv[1]);
  if (num_procs < 1 || num_procs > MAX_PROCS) {
    fprintf(stderr, "usage: manager N PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  check(PMIx_server_init(&module, NULL, 0), "start of the server");
  register_job();
  for (int rank = 0; rank < num_procs; ++rank) start(rank, argv + 2);
  const int code = wait_for_all();
  /* This removes the job's data and its clients. */
  PMIx_server_deregister_nspace(job_name, NULL, NULL);
  check(PMIx_server_finalize(), "end of the server");
  return code;
}
