/* A resource manager of two nodes on one machine: two servers, each in a
 * process of its own, that start half of the ranks each and exchange the data
 * of the library.
 *
 *   two_servers N PROGRAM [ARGUMENT...]
 *
 * The ranks of slots.c can check the answer of each function of its module.
 * Exits with the first exit code that is not 0. */
#define _GNU_SOURCE
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMaxRounds = 64, kMaxPublished = 64, kMaxWaiting = 64, kMaxInfos = 64 };
enum { kFence, kConnect, kDisconnect, kGroup, kCollectives };
enum { kGet = kCollectives, kGot, kEvent };

static const char job[] = "two-servers";
static int num_procs, node, peer;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static void check(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "two_servers: %s: %s\n", what, PMIx_Error_string(status));
  _exit(125);
}

static bool is_here(uint32_t rank) { return rank % 2 == (uint32_t)node; }

/* ---- Messages between the servers ---- */

typedef struct {
  int32_t kind, status;
  uint32_t tag, rank;
  uint64_t size; /* of the bytes that follow */
} header_t;

static void transfer(bool out, void *data, size_t size) {
  char *at = data;
  while (size > 0) {
    const ssize_t n = out ? write(peer, at, size) : read(peer, at, size);
    if (n <= 0) {
      /* The other server has ended. A sending thread may belong to the library,
       * so this program must not end it. */
      if (out) return;
      pthread_exit(NULL);
    }
    at += n;
    size -= (size_t)n;
  }
}

static void tell(int kind, int status, uint32_t tag, uint32_t rank,
                 const void *data, size_t size) {
  header_t header = {kind, status, tag, rank, size};
  pthread_mutex_lock(&writing);
  transfer(true, &header, sizeof header);
  transfer(true, (void *)data, size);
  pthread_mutex_unlock(&writing);
}

/* ---- Operations of both servers: the n-th here is the n-th there ---- */

typedef struct {
  bool here, there;
  pmix_status_t my_status, their_status; /* result on each node */
  char *mine, *theirs;
  size_t mine_size, theirs_size;
  pmix_modex_cbfunc_t modex_done;
  pmix_op_cbfunc_t op_done;
  pmix_info_cbfunc_t info_done;
  void *cbdata;
} round_t;
static round_t rounds[kCollectives][kMaxRounds];
static int num_here[kCollectives], num_there[kCollectives];

/* Unpacks the data that each member shares. */
static size_t unpack(char *data, size_t size, pmix_info_t *infos) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  PMIX_DATA_BUFFER_LOAD(&buffer, data, size);
  size_t count = 0;
  int32_t one = 1;
  while (count < kMaxInfos && PMIx_Data_unpack(NULL, &buffer, &infos[count],
                                               &one, PMIX_INFO) == PMIX_SUCCESS)
    ++count;
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return count;
}

static pmix_status_t outcome(const round_t *round) {
  return round->my_status != PMIX_SUCCESS ? round->my_status
                                          : round->their_status;
}

static void finish_group(round_t *round) {
  static pmix_info_t infos[2 * kMaxInfos + 1];
  size_t count = unpack(round->mine, round->mine_size, infos);
  count += unpack(round->theirs, round->theirs_size, infos + count);
  size_t context = 4711;
  PMIX_INFO_LOAD(&infos[count], PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
  round->info_done(outcome(round), infos, count + 1, round->cbdata, NULL, NULL);
}

/* Completes an operation when both nodes have arrived. The data of a fence
 * includes the status. */
static void finish(round_t *round) {
  if (!round->here || !round->there) return;
  if (round->info_done != NULL) return finish_group(round);
  if (round->op_done != NULL)
    return round->op_done(outcome(round), round->cbdata);
  const size_t size = round->mine_size + round->theirs_size;
  char *all = malloc(size + 1);
  memcpy(all, round->theirs, round->theirs_size);
  memcpy(all + round->theirs_size, round->mine, round->mine_size);
  free(round->mine);
  free(round->theirs);
  round->modex_done(PMIX_SUCCESS, all, size, round->cbdata, free, all);
}

/* Returns the status of this node's ranks, which the library passes with each
 * collective. */
static pmix_status_t local_status(const pmix_info_t info[], size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, PMIX_LOCAL_COLLECTIVE_STATUS) == 0) {
      return info[i].value.data.status;
    }
  }
  check(PMIX_ERR_NOT_FOUND, "local status of a collective");
  return PMIX_ERROR;
}

static pmix_status_t collect(int kind, pmix_status_t status, char *data,
                             size_t size, pmix_modex_cbfunc_t modex_done,
                             pmix_op_cbfunc_t op_done,
                             pmix_info_cbfunc_t info_done, void *cbdata) {
  pthread_mutex_lock(&mutex);
  round_t *round = &rounds[kind][num_here[kind]++];
  round->my_status = status;
  round->info_done = info_done;
  round->mine = data;
  round->mine_size = size;
  round->modex_done = modex_done;
  round->op_done = op_done;
  round->cbdata = cbdata;
  pthread_mutex_unlock(&mutex);
  tell(kind, status, 0, 0, data, size);
  /* `finish` may free the data, so it is called after the data is sent. */
  pthread_mutex_lock(&mutex);
  round->here = true;
  finish(round);
  pthread_mutex_unlock(&mutex);
  return PMIX_SUCCESS;
}

static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo, char *data,
                           size_t size, pmix_modex_cbfunc_t done,
                           void *cbdata) {
  (void)procs, (void)nprocs;
  return collect(kFence, local_status(info, ninfo), data, size, done, NULL,
                 NULL, cbdata);
}

static pmix_status_t connect_procs(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t done, void *cbdata) {
  (void)procs, (void)nprocs;
  return collect(kConnect, local_status(info, ninfo), NULL, 0, NULL, done, NULL,
                 cbdata);
}

static pmix_status_t disconnect_procs(const pmix_proc_t procs[], size_t nprocs,
                                      const pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t done, void *cbdata) {
  (void)procs, (void)nprocs;
  return collect(kDisconnect, local_status(info, ninfo), NULL, 0, NULL, done,
                 NULL, cbdata);
}

static pmix_status_t group(pmix_group_operation_t op, char name[],
                           const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo,
                           pmix_info_cbfunc_t done, void *cbdata) {
  (void)op, (void)procs, (void)nprocs;
  if (strcmp(name, "of both nodes") != 0 && strcmp(name, "left") != 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, PMIX_GROUP_ENDPT_DATA) != 0) continue;
    check(PMIx_Data_pack(NULL, &buffer, (void *)&info[i], 1, PMIX_INFO),
          "pack an endpoint");
  }
  char *data = NULL;
  size_t size = 0;
  PMIX_DATA_BUFFER_UNLOAD(&buffer, data, size);
  return collect(kGroup, local_status(info, ninfo), data, size, NULL, NULL,
                 done, cbdata);
}

/* ---- Direct modex ---- */

static struct {
  pmix_modex_cbfunc_t done;
  void *cbdata;
} waiting[kMaxWaiting];
static uint32_t num_waiting;

static pmix_status_t direct_modex(const pmix_proc_t *proc,
                                  const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t done, void *cbdata) {
  (void)info, (void)ninfo;
  pthread_mutex_lock(&mutex);
  const uint32_t tag = num_waiting++;
  waiting[tag].done = done;
  waiting[tag].cbdata = cbdata;
  pthread_mutex_unlock(&mutex);
  tell(kGet, 0, tag, proc->rank, NULL, 0);
  return PMIX_SUCCESS;
}

static void committed(pmix_status_t status, char *data, size_t size,
                      void *cbdata) {
  tell(kGot, status, (uint32_t)(uintptr_t)cbdata, 0, data, size);
}

static void hear(const header_t *header, char *data) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job, header->rank);
  switch (header->kind) {
    case kGet:
      check(PMIx_server_dmodex_request(&proc, committed,
                                       (void *)(uintptr_t)header->tag),
            "dmodex request");
      free(data);
      return;
    case kGot:
      waiting[header->tag].done(header->status, data, header->size,
                                waiting[header->tag].cbdata, free, data);
      return;
    case kEvent:
      check(PMIx_Notify_event(header->status, &proc, PMIX_RANGE_LOCAL, NULL, 0,
                              NULL, NULL),
            "notify");
      free(data);
      return;
    default:
      break;
  }
  pthread_mutex_lock(&mutex);
  round_t *round = &rounds[header->kind][num_there[header->kind]++];
  round->their_status = header->status;
  round->theirs = data;
  round->theirs_size = header->size;
  round->there = true;
  finish(round);
  pthread_mutex_unlock(&mutex);
}

static void *listen_to_peer(void *unused) {
  for (;;) {
    header_t header;
    transfer(false, &header, sizeof header);
    char *data = malloc(header.size + 1);
    transfer(false, data, header.size);
    hear(&header, data);
  }
  return unused;
}

/* ---- Answers of one server alone ---- */

static void *agree(void *done_and_cbdata) {
  void **pair = done_and_cbdata;
  ((pmix_op_cbfunc_t)pair[0])(PMIX_SUCCESS, pair[1]);
  free(pair);
  return NULL;
}

/* Accepts a call, and completes it on another thread. */
static pmix_status_t begun(const pmix_proc_t *proc, void *object,
                           pmix_info_t info[], size_t ninfo,
                           pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object, (void)info, (void)ninfo;
  void **pair = malloc(2 * sizeof *pair);
  pair[0] = (void *)done;
  pair[1] = cbdata;
  pthread_t thread;
  pthread_create(&thread, NULL, agree, pair);
  pthread_detach(thread);
  return PMIX_SUCCESS;
}

static pmix_status_t ended(const pmix_proc_t *proc, void *object,
                           pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object, (void)done, (void)cbdata;
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t notify(pmix_status_t code, const pmix_proc_t *source,
                            pmix_data_range_t range, pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t done, void *cbdata) {
  (void)range, (void)info, (void)ninfo;
  tell(kEvent, code, 0, source->rank, NULL, 0);
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static pmix_pdata_t published[kMaxPublished];
static size_t num_published;

static pmix_status_t publish(const pmix_proc_t *proc, const pmix_info_t info[],
                             size_t ninfo, pmix_op_cbfunc_t done,
                             void *cbdata) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strncmp(info[i].key, "pmix.", 5) == 0) continue;
    pmix_pdata_t *one = &published[num_published++];
    one->proc = *proc;
    strcpy(one->key, info[i].key);
    check(PMIx_Value_xfer(&one->value, &info[i].value), "publish");
  }
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static pmix_status_t lookup(const pmix_proc_t *proc, char **keys,
                            const pmix_info_t info[], size_t ninfo,
                            pmix_lookup_cbfunc_t done, void *cbdata) {
  (void)proc, (void)info, (void)ninfo;
  for (size_t i = 0; i < num_published; ++i) {
    if (strcmp(published[i].key, keys[0]) != 0) continue;
    done(PMIX_SUCCESS, &published[i], 1, cbdata);
    return PMIX_SUCCESS;
  }
  return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t unpublish(const pmix_proc_t *proc, char **keys,
                               const pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)info, (void)ninfo, (void)done, (void)cbdata;
  for (size_t i = 0; i < num_published; ++i) {
    if (strcmp(published[i].key, keys[0]) == 0) published[i].key[0] = '\0';
  }
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t answer(const char *key, const char *text,
                            pmix_info_cbfunc_t done, void *cbdata) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
  done(PMIX_SUCCESS, &info, 1, cbdata, NULL, NULL);
  PMIX_INFO_DESTRUCT(&info);
  return PMIX_SUCCESS;
}

/* Recorded for a query. */
static int num_codes, num_pulls;
static char typed[64] = "nothing";

static pmix_status_t register_events(pmix_status_t *codes, size_t ncodes,
                                     const pmix_info_t info[], size_t ninfo,
                                     pmix_op_cbfunc_t done, void *cbdata) {
  (void)codes, (void)info, (void)ninfo;
  num_codes += (int)ncodes;
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static pmix_status_t deregister_events(pmix_status_t *codes, size_t ncodes,
                                       pmix_op_cbfunc_t done, void *cbdata) {
  (void)codes, (void)done, (void)cbdata;
  num_codes -= (int)ncodes;
  return PMIX_OPERATION_SUCCEEDED;
}

/* All output consists of two lines, the second after a pause. */
static pmix_status_t pull(const pmix_proc_t procs[], size_t nprocs,
                          const pmix_info_t directives[], size_t ndirs,
                          pmix_iof_channel_t channels, pmix_op_cbfunc_t done,
                          void *cbdata) {
  (void)done, (void)cbdata;
  for (size_t i = 0; i < ndirs; ++i) {
    if (strcmp(directives[i].key, PMIX_IOF_STOP) != 0) continue;
    --num_pulls;
    return PMIX_OPERATION_SUCCEEDED;
  }
  if (nprocs != 1 || channels != PMIX_FWD_STDOUT_CHANNEL) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  ++num_pulls;
  char first[] = "first\n", second[] = "second\n";
  pmix_byte_object_t line = {first, sizeof first - 1};
  check(PMIx_server_IOF_deliver(procs, channels, &line, NULL, 0, NULL, NULL),
        "deliver output");
  check(
      PMIx_server_IOF_flow_control(procs, channels, true, NULL, 0, NULL, NULL),
      "stop the output");
  line = (pmix_byte_object_t){second, sizeof second - 1};
  check(PMIx_server_IOF_deliver(procs, channels, &line, NULL, 0, NULL, NULL),
        "deliver more output");
  check(
      PMIx_server_IOF_flow_control(procs, channels, false, NULL, 0, NULL, NULL),
      "let the output go on");
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t push(const pmix_proc_t *source,
                          const pmix_proc_t targets[], size_t ntargets,
                          const pmix_info_t directives[], size_t ndirs,
                          const pmix_byte_object_t *bytes,
                          pmix_op_cbfunc_t done, void *cbdata) {
  (void)source, (void)directives, (void)ndirs;
  if (ntargets != 1 || targets[0].rank != 0 || bytes->size >= sizeof typed) {
    return PMIX_ERR_BAD_PARAM;
  }
  memcpy(typed, bytes->bytes, bytes->size);
  typed[bytes->size] = '\0';
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static pmix_status_t query(pmix_proc_t *proc, pmix_query_t *queries,
                           size_t nqueries, pmix_info_cbfunc_t done,
                           void *cbdata) {
  (void)proc, (void)nqueries;
  char text[128];
  if (strcmp(queries[0].keys[0], "host.state") == 0) {
    snprintf(text, sizeof text, "%d codes, %d pulls, %s typed", num_codes,
             num_pulls, typed);
    return answer("host.state", text, done, cbdata);
  }
  return answer(queries[0].keys[0], "of the host", done, cbdata);
}

static pmix_status_t allocate(const pmix_proc_t *proc,
                              pmix_alloc_directive_t directive,
                              const pmix_info_t info[], size_t ninfo,
                              pmix_info_cbfunc_t done, void *cbdata) {
  (void)proc, (void)info, (void)ninfo;
  if (directive != PMIX_ALLOC_NEW) return PMIX_ERR_BAD_PARAM;
  return answer(PMIX_ALLOC_ID, "allocated", done, cbdata);
}

static pmix_status_t control(const pmix_proc_t *proc,
                             const pmix_proc_t targets[], size_t ntargets,
                             const pmix_info_t directives[], size_t ndirs,
                             pmix_info_cbfunc_t done, void *cbdata) {
  (void)proc, (void)targets, (void)directives, (void)ndirs;
  if (ntargets != 1) return PMIX_ERR_BAD_PARAM;
  return answer(PMIX_JOB_CTRL_ID, "controlled", done, cbdata);
}

static pmix_status_t monitor(const pmix_proc_t *proc,
                             const pmix_info_t *monitor, pmix_status_t error,
                             const pmix_info_t directives[], size_t ndirs,
                             pmix_info_cbfunc_t done, void *cbdata) {
  (void)proc, (void)directives, (void)ndirs;
  if (strcmp(monitor->key, PMIX_MONITOR_FILE) != 0 ||
      error != PMIX_MONITOR_FILE_ALERT) {
    return PMIX_ERR_BAD_PARAM;
  }
  return answer(PMIX_MONITOR_ID, "monitored", done, cbdata);
}

static void log_data(const pmix_proc_t *proc, const pmix_info_t data[],
                     size_t ndata, const pmix_info_t directives[], size_t ndirs,
                     pmix_op_cbfunc_t done, void *cbdata) {
  (void)ndata, (void)directives, (void)ndirs;
  printf("rank %u logs %s\n", proc->rank, data[0].value.data.string);
  fflush(stdout);
  done(PMIX_SUCCESS, cbdata);
}

static pmix_status_t get_credential(const pmix_proc_t *proc,
                                    const pmix_info_t directives[],
                                    size_t ndirs, pmix_credential_cbfunc_t done,
                                    void *cbdata) {
  (void)proc, (void)directives, (void)ndirs;
  char text[] = "secret";
  pmix_byte_object_t credential = {text, sizeof text};
  done(PMIX_SUCCESS, &credential, NULL, 0, cbdata);
  return PMIX_SUCCESS;
}

static pmix_status_t validate(const pmix_proc_t *proc,
                              const pmix_byte_object_t *credential,
                              const pmix_info_t directives[], size_t ndirs,
                              pmix_validation_cbfunc_t done, void *cbdata) {
  (void)proc, (void)directives, (void)ndirs;
  const bool good = credential->size == sizeof "secret" &&
                    memcmp(credential->bytes, "secret", sizeof "secret") == 0;
  done(good ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED, NULL, 0, cbdata);
  return PMIX_SUCCESS;
}

/* The ranks are part of one fabric, which grows. */
static pmix_status_t fabric(const pmix_proc_t *proc, pmix_fabric_operation_t op,
                            const pmix_info_t directives[], size_t ndirs,
                            pmix_info_cbfunc_t done, void *cbdata) {
  (void)proc;
  bool it = op == PMIX_FABRIC_REQUEST_INFO;
  for (size_t i = 0; i < ndirs; ++i) {
    if (strcmp(directives[i].key, PMIX_FABRIC_PLANE) == 0 &&
        strcmp(directives[i].value.data.string, "north") != 0) {
      return PMIX_ERR_NOT_FOUND;
    }
    if (op == PMIX_FABRIC_UPDATE_INFO &&
        strcmp(directives[i].key, PMIX_FABRIC_INDEX) == 0) {
      it = directives[i].value.data.size == 5;
    }
  }
  if (!it) return PMIX_ERR_NOT_FOUND;
  pmix_info_t info[3];
  const size_t index = 5;
  const size_t count = op == PMIX_FABRIC_UPDATE_INFO ? 2 : 1;
  PMIX_INFO_LOAD(&info[0], PMIX_FABRIC_VENDOR, "of the host", PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_FABRIC_NUM_DEVICES, &count, PMIX_SIZE);
  PMIX_INFO_LOAD(&info[2], PMIX_FABRIC_INDEX, &index, PMIX_SIZE);
  done(PMIX_SUCCESS, info, 3, cbdata, NULL, NULL);
  PMIX_INFO_DESTRUCT(&info[0]);
  return PMIX_SUCCESS;
}

/* ---- Jobs ---- */

static void start(const char *nspace, int rank, char **argv) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, nspace, rank);
  check(
      PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL),
      "register a process");
  char **env = NULL;
  PMIX_ARGV_COPY(env, environ);
  check(PMIx_server_setup_fork(&proc, &env), "environment of a process");
  const pid_t pid = fork();
  if (pid == 0) {
    execvpe(argv[0], argv, env);
    _exit(127);
  }
  PMIX_ARGV_FREE(env);
}

static void register_job(const char *name, const char *nodes, const char *procs,
                         uint32_t size, int here) {
  char *node_map, *proc_map;
  check(PMIx_generate_regex(nodes, &node_map), "node map");
  check(PMIx_generate_ppn(procs, &proc_map), "map of the processes");
  pmix_nspace_t nspace;
  PMIX_LOAD_NSPACE(nspace, name);
  pmix_info_t info[4];
  PMIX_INFO_LOAD(&info[0], PMIX_JOB_SIZE, &size, PMIX_UINT32);
  PMIX_INFO_LOAD(&info[1], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
  PMIX_INFO_LOAD(&info[2], PMIX_NODE_MAP, node_map, PMIX_STRING);
  PMIX_INFO_LOAD(&info[3], PMIX_PROC_MAP, proc_map, PMIX_STRING);
  check(PMIx_server_register_nspace(nspace, here, info, 4, NULL, NULL),
        "register a job");
}

/* The process of a spawn is started on another thread, because no function of
 * the module may block. */
static char **spawned;
static pthread_cond_t to_spawn = PTHREAD_COND_INITIALIZER;
static pmix_spawn_cbfunc_t spawn_done;
static void *spawn_cbdata;

static pmix_status_t spawn(const pmix_proc_t *proc, const pmix_info_t info[],
                           size_t ninfo, const pmix_app_t apps[], size_t napps,
                           pmix_spawn_cbfunc_t done, void *cbdata) {
  (void)proc, (void)info, (void)ninfo;
  if (napps != 1 || apps[0].maxprocs != 1) return PMIX_ERR_NOT_SUPPORTED;
  pthread_mutex_lock(&mutex);
  PMIX_ARGV_COPY(spawned, apps[0].argv);
  spawn_done = done;
  spawn_cbdata = cbdata;
  pthread_cond_signal(&to_spawn);
  pthread_mutex_unlock(&mutex);
  return PMIX_SUCCESS;
}

static void *start_spawned(void *unused) {
  pthread_mutex_lock(&mutex);
  while (spawned == NULL) pthread_cond_wait(&to_spawn, &mutex);
  pthread_mutex_unlock(&mutex);
  register_job("spawned", node == 0 ? "first" : "second", "0", 1, 1);
  start("spawned", 0, spawned);
  pmix_nspace_t nspace;
  PMIX_LOAD_NSPACE(nspace, "spawned");
  spawn_done(PMIX_SUCCESS, nspace, spawn_cbdata);
  return unused;
}

static pmix_server_module_t module = {
    .client_connected2 = begun,
    .client_finalized = ended,
    .fence_nb = fence,
    .direct_modex = direct_modex,
    .publish = publish,
    .lookup = lookup,
    .unpublish = unpublish,
    .spawn = spawn,
    .connect = connect_procs,
    .disconnect = disconnect_procs,
    .group = group,
    .register_events = register_events,
    .deregister_events = deregister_events,
    .iof_pull = pull,
    .push_stdin = push,
    .notify_event = notify,
    .query = query,
    .log = log_data,
    .allocate = allocate,
    .job_control = control,
    .monitor = monitor,
    .get_credential = get_credential,
    .validate_credential = validate,
    .fabric = fabric,
};

static int serve(char **argv) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_HOSTNAME, node == 0 ? "first" : "second",
                 PMIX_STRING);
  check(PMIx_server_init(&module, &info, 1), "start of the server");
  char ranks[2][1024] = {"", ""};
  int here = 0;
  for (int rank = 0; rank < num_procs; ++rank) {
    char *of = ranks[rank % 2];
    sprintf(of + strlen(of), "%s%d", *of == '\0' ? "" : ",", rank);
    here += is_here((uint32_t)rank);
  }
  char map[2100];
  snprintf(map, sizeof map, "%s;%s", ranks[0], ranks[1]);
  register_job(job, "first,second", map, (uint32_t)num_procs, here);
  pthread_t listener, starter;
  pthread_create(&listener, NULL, listen_to_peer, NULL);
  pthread_create(&starter, NULL, start_spawned, NULL);
  for (int rank = 0; rank < num_procs; ++rank) {
    if (is_here((uint32_t)rank)) start(job, rank, argv);
  }
  int code = 0, status;
  while (wait(&status) > 0) {
    if (code == 0) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (code != 0) _exit(code);
  }
  check(PMIx_server_finalize(), "end of the server");
  return code;
}

int main(int argc, char **argv) {
  num_procs = argc < 3 ? 0 : atoi(argv[1]);
  if (num_procs < 2 || num_procs > 128) return 2;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 2;
  pid_t servers[2];
  for (node = 0; node < 2; ++node) {
    servers[node] = fork();
    if (servers[node] != 0) continue;
    peer = ends[node];
    close(ends[1 - node]);
    return serve(argv + 2);
  }
  close(ends[0]);
  close(ends[1]);
  int code = 0;
  for (node = 0; node < 2; ++node) {
    int status = 0;
    waitpid(servers[node], &status, 0);
    const int one = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (code == 0) code = one;
  }
  return code;
}
