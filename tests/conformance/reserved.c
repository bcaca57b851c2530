// Every reserved key that a launcher provides: type, value, and the realm of a
// request without directives, or with PMIX_*_INFO and its qualifiers. Words:
// the number of applications, 1 or 2, of which the first has 3 ranks; appK in
// application K; the nodes of the allocation if some are unused.
#include <ctype.h>
#include <dirent.h>

#include "check.h"

static uint32_t g_apps;
static uint32_t g_allocated;

// ------------------------------------------------------------------ texts ---

static uint32_t ItemsIn(const char *list, char separator) {
  uint32_t items = 1;
  for (; *list != '\0'; ++list) items += *list == separator;
  return items;
}

// Returns the item with index `at` of a list; the caller frees it.
static char *ItemAt(const char *list, char separator, uint32_t at) {
  for (; at > 0; --at) list = strchr(list, separator) + 1;
  const char *end = strchr(list, separator);
  return end == NULL ? strdup(list) : strndup(list, (size_t)(end - list));
}

static bool HasNumber(const char *list, uint32_t number) {
  for (uint32_t i = 0; i < ItemsIn(list, ','); ++i) {
    char *item = ItemAt(list, ',', i);
    const bool same = (uint32_t)atoi(item) == number;
    free(item);
    if (same) return true;
  }
  return false;
}

static void CheckText(const pmix_proc_t *proc, const char *key,
                      const Directives *with, const char *want) {
  char *text = MustGetText(proc, key, with);
  CHECK(strcmp(text, want) == 0, "%s is '%s', not '%s'", key, text, want);
  free(text);
}

static void CheckNumber(const pmix_proc_t *proc, const char *key,
                        const Directives *with, pmix_data_type_t type,
                        uint32_t want) {
  const uint32_t number = MustGetNumber(proc, key, with, type);
  CHECK(number == want, "%s is %u, not %u", key, number, want);
}

static bool MustGetBool(const pmix_proc_t *proc, const char *key,
                        const Directives *with) {
  pmix_value_t *value = MustGet(proc, key, with, PMIX_BOOL);
  const bool flag = value->data.flag;
  PMIX_VALUE_RELEASE(value);
  return flag;
}

static void CheckDirectory(const char *key, const char *path) {
  DIR *directory = opendir(path);
  CHECK(directory != NULL, "%s '%s' is no directory", key, path);
  closedir(directory);
}

// ---------------------------------------------------------------- session ---

static void SessionRealm(void) {
  const Directives session = Flag(PMIX_SESSION_INFO);
  const uint32_t id = MustGetNumber(&g_job, PMIX_SESSION_ID, NULL, PMIX_UINT32);
  const uint32_t universe =
      MustGetNumber(&g_job, PMIX_UNIV_SIZE, NULL, PMIX_UINT32);
  CHECK(universe > 0, "PMIX_UNIV_SIZE is 0");
  static const char *const kTexts[] = {PMIX_RM_NAME, PMIX_RM_VERSION,
                                       PMIX_CLUSTER_ID, PMIX_TMPDIR};
  for (size_t i = 0; i < sizeof(kTexts) / sizeof(*kTexts); ++i) {
    char *text = MustGetText(&g_job, kTexts[i], NULL);
    CheckText(&g_job, kTexts[i], &session, text);
    CheckText(&g_self, kTexts[i], NULL, text);
    free(text);
  }
  CHECK(MustGetBool(&g_job, PMIX_TDIR_RMCLEAN, NULL), "PMIX_TDIR_RMCLEAN");
  (void)MustGetBool(&g_job, PMIX_HOSTNAME_KEEP_FQDN, NULL);
  char *tmpdir = MustGetText(&g_job, PMIX_TMPDIR, NULL);
  CheckDirectory(PMIX_TMPDIR, tmpdir);
  free(tmpdir);
  CheckNumber(&g_job, PMIX_UNIV_SIZE, &session, PMIX_UINT32, universe);
  CheckNumber(&g_job, PMIX_SESSION_ID, &session, PMIX_UINT32, id);
  CheckNumber(&g_job, PMIX_MAX_PROCS, &session, PMIX_UINT32, universe);
  (void)MustGetNumber(&g_job, PMIX_NUM_SLOTS, &session, PMIX_UINT32);
  CHECK(MustGetNumber(&g_job, PMIX_NUM_NODES, &session, PMIX_UINT32) >= g_nodes,
        "the session has fewer nodes than the job");
  free(MustGetText(&g_job, PMIX_NODE_MAP, &session));
  free(MustGetText(&g_job, PMIX_PROC_MAP, &session));
  free(MustGetText(&g_job, PMIX_SERVER_HOSTNAME, NULL));
  Directives named = session;
  AddU32(&named, PMIX_SESSION_ID, id);
  CheckNumber(&g_job, PMIX_UNIV_SIZE, &named, PMIX_UINT32, universe);
  Directives other = session;
  AddU32(&other, PMIX_SESSION_ID, id + 1);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_UNIV_SIZE, &other);
  // A job-level key is not in the session realm.
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_JOB_SIZE, &session);
}

static void Allocation(const Directives *with) {
  CheckNumber(&g_job, PMIX_NUM_ALLOCATED_NODES, with, PMIX_UINT32, g_allocated);
  char *nodes = MustGetText(&g_job, PMIX_ALLOCATED_NODELIST, with);
  CHECK(ItemsIn(nodes, ',') == g_allocated, "%s", nodes);
  free(nodes);
}

// -------------------------------------------------------------------- job ---

// Returns the number of processes of the session's earlier jobs.
static uint32_t Offset(void) {
  return MustGetNumber(&g_job, PMIX_NPROC_OFFSET, NULL, PMIX_PROC_RANK);
}

static void JobNumbers(const pmix_proc_t *proc, const Directives *with) {
  CheckNumber(proc, PMIX_JOB_SIZE, with, PMIX_UINT32, g_size);
  CheckNumber(proc, PMIX_JOB_NUM_APPS, with, PMIX_UINT32, g_apps);
  CheckNumber(proc, PMIX_NUM_NODES, with, PMIX_UINT32, g_nodes);
  CheckNumber(proc, PMIX_NPROC_OFFSET, with, PMIX_PROC_RANK, Offset());
  CHECK(MustGetNumber(proc, PMIX_MAX_PROCS, with, PMIX_UINT32) >= g_size,
        "PMIX_MAX_PROCS is below the job's size");
  CHECK(MustGetNumber(proc, PMIX_NUM_SLOTS, with, PMIX_UINT32) > 0, "no slots");
  CheckNumber(proc, PMIX_SESSION_ID, with, PMIX_UINT32,
              MustGetNumber(&g_job, PMIX_SESSION_ID, NULL, PMIX_UINT32));
}

static void JobTexts(const pmix_proc_t *proc, const Directives *with) {
  static const char *const kTexts[] = {
      PMIX_JOBID,  PMIX_CMD_LINE,  PMIX_MAPBY,        PMIX_RANKBY,
      PMIX_BINDTO, PMIX_NODE_MAP,  PMIX_PROC_MAP,     PMIX_ANL_MAP,
      PMIX_NSDIR,  PMIX_NODE_LIST, PMIX_SERVER_NSPACE, PMIX_SERVER_URI};
  for (size_t i = 0; i < sizeof(kTexts) / sizeof(*kTexts); ++i) {
    free(MustGetText(proc, kTexts[i], with));
  }
  (void)MustGetNumber(proc, PMIX_SERVER_RANK, with, PMIX_PROC_RANK);
  char *line = MustGetText(proc, PMIX_CMD_LINE, with);
  CHECK(strstr(line, "reserved") != NULL, "PMIX_CMD_LINE is '%s'", line);
  free(line);
  char *directory = MustGetText(proc, PMIX_NSDIR, with);
  CheckDirectory(PMIX_NSDIR, directory);
  free(directory);
}

static void JobRealm(void) {
  const Directives job = Flag(PMIX_JOB_INFO);
  JobNumbers(&g_job, NULL);
  JobNumbers(&g_job, &job);
  JobTexts(&g_job, NULL);
  JobTexts(&g_job, &job);
  // The result is the same for this process and for a null process as for the
  // wildcard.
  JobNumbers(&g_self, NULL);
  JobNumbers(NULL, NULL);
  JobTexts(NULL, NULL);
  CheckText(&g_job, PMIX_NSPACE, &job, g_self.nspace);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, "pmix.no.such.key", NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, "pmix.no.such.key", NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_PARENT_ID, NULL);
  Directives other = Flag(PMIX_OPTIONAL);
  pmix_value_t *spawned = NULL;
  if (GetWith(&g_job, PMIX_SPAWNED, &other, &spawned) == PMIX_SUCCESS) {
    CHECK(!spawned->data.flag, "PMIX_SPAWNED, but canopy run started it");
    PMIX_VALUE_RELEASE(spawned);
  }
}

// Returns the index of a rank's node in the maps.
static uint32_t IndexOf(pmix_rank_t rank) {
  char *ranks = MustGetText(&g_job, PMIX_PROC_MAP_RAW, NULL);
  uint32_t node = 0;
  for (bool found = false; !found; ++node) {
    CHECK(node < ItemsIn(ranks, ';'), "rank %u is on no node", rank);
    char *here = ItemAt(ranks, ';', node);
    found = HasNumber(here, rank);
    free(here);
  }
  free(ranks);
  return node - 1;
}

// The maps must agree with the node of every rank.
static void Maps(void) {
  char *nodes = MustGetText(&g_job, PMIX_NODE_MAP_RAW, NULL);
  char *ranks = MustGetText(&g_job, PMIX_PROC_MAP_RAW, NULL);
  CHECK(ItemsIn(nodes, ',') == g_nodes, "%s", nodes);
  CHECK(ItemsIn(ranks, ';') == g_nodes, "%s", ranks);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    const uint32_t node = IndexOf(rank);
    char *name = ItemAt(nodes, ',', node);
    char *here = ItemAt(ranks, ';', node);
    CheckText(&peer, PMIX_HOSTNAME, NULL, name);
    CHECK(HasNumber(here, rank), "rank %u is not in '%s'", rank, here);
    free(name);
    free(here);
  }
  free(nodes);
  free(ranks);
}

// ------------------------------------------------------------ application ---

static uint32_t FirstOfApp(uint32_t app) { return app == 0 ? 0 : 3; }
static uint32_t SizeOfApp(uint32_t app) {
  if (g_apps == 1) return g_size;
  return app == 0 ? 3 : g_size - 3;
}
static uint32_t AppOf(pmix_rank_t rank) {
  return g_apps == 2 && rank >= 3 ? 1 : 0;
}

static void CheckApp(const pmix_proc_t *proc, const Directives *with,
                     uint32_t app) {
  CheckNumber(proc, PMIX_APP_SIZE, with, PMIX_UINT32, SizeOfApp(app));
  CheckNumber(proc, PMIX_APPLDR, with, PMIX_PROC_RANK, FirstOfApp(app));
  char *argv = MustGetText(proc, PMIX_APP_ARGV, with);
  char word[16];
  snprintf(word, sizeof(word), "app%u", app);
  CHECK(strstr(argv, word) != NULL, "application %u has PMIX_APP_ARGV '%s'",
        app, argv);
  free(argv);
  char *directory = MustGetText(proc, PMIX_WDIR, with);
  CheckDirectory(PMIX_WDIR, directory);
  free(directory);
}

static void AppRealm(void) {
  const Directives flag = Flag(PMIX_APP_INFO);
  const uint32_t own = AppOf(g_self.rank);
  CheckApp(&g_self, NULL, own);
  CheckApp(&g_self, &flag, own);
  CheckApp(&g_job, &flag, own);
  for (uint32_t app = 0; app < g_apps; ++app) {
    Directives named = flag;
    AddU32(&named, PMIX_APPNUM, app);
    CheckApp(&g_job, &named, app);
    CheckApp(&g_self, &named, app);
    CheckNumber(&g_job, PMIX_MAX_PROCS, &named, PMIX_UINT32, SizeOfApp(app));
    (void)MustGetNumber(&g_job, PMIX_NUM_NODES, &named, PMIX_UINT32);
    free(MustGetText(&g_job, PMIX_NODE_LIST, &named));
    CheckNumber(&g_job, PMIX_NUM_ALLOCATED_NODES, &named, PMIX_UINT32,
                g_allocated);
    (void)MustGetNumber(&g_job, PMIX_NUM_SLOTS, &named, PMIX_UINT32);
    char *policy = MustGetText(&g_job, PMIX_MAPBY, NULL);
    CheckText(&g_job, PMIX_APP_MAP_TYPE, &named, policy);
    free(policy);
    free(MustGetText(&g_job, PMIX_APP_MAP_REGEX, &named));
  }
  const pmix_proc_t last = ProcOf(g_size - 1);
  CheckApp(&last, &flag, AppOf(g_size - 1));
  Directives unknown = flag;
  AddU32(&unknown, PMIX_APPNUM, g_apps);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_APP_SIZE, &unknown);
}

// ------------------------------------------------------------------- node ---

static void CheckLocalProcs(const Directives *with, const char *peers) {
  pmix_value_t *value =
      MustGet(&g_job, PMIX_LOCAL_PROCS, with, PMIX_DATA_ARRAY);
  const pmix_data_array_t *array = value->data.darray;
  CHECK(array->type == PMIX_PROC, "an array of %s",
        PMIx_Data_type_string(array->type));
  // Processes of other jobs follow this job's own.
  const size_t own = ItemsIn(peers, ',');
  CHECK(array->size >= own, "%zu local processes", array->size);
  const pmix_proc_t *procs = array->array;
  for (size_t i = 0; i < own; ++i) {
    CHECK(HasNumber(peers, procs[i].rank), "rank %u", procs[i].rank);
    CHECK(strcmp(procs[i].nspace, g_self.nspace) == 0, "%s", procs[i].nspace);
  }
  PMIX_VALUE_RELEASE(value);
}

// Returns the PMIX_NODEID, by which the session numbers its nodes.
static uint32_t IdOf(uint32_t node) {
  char *ranks = MustGetText(&g_job, PMIX_PROC_MAP_RAW, NULL);
  char *peers = ItemAt(ranks, ';', node);
  const uint32_t id = NodeOf((pmix_rank_t)atoi(peers));
  free(ranks);
  free(peers);
  return id;
}

static void CheckMemory(const Directives *with) {
  pmix_value_t *memory =
      MustGet(&g_job, PMIX_AVAIL_PHYS_MEMORY, with, PMIX_UINT64);
  CHECK(memory->data.uint64 > 1u << 20, "%llu bytes of memory",
        (unsigned long long)memory->data.uint64);
  PMIX_VALUE_RELEASE(memory);
}

// Checks the data of the node with index `node` in the job. `with` has the
// directives that name this node.
static void CheckNode(const Directives *with, uint32_t node) {
  char *ranks = MustGetText(&g_job, PMIX_PROC_MAP_RAW, NULL);
  char *nodes = MustGetText(&g_job, PMIX_NODE_MAP_RAW, NULL);
  char *peers = ItemAt(ranks, ';', node);
  char *name = ItemAt(nodes, ',', node);
  const uint32_t count = ItemsIn(peers, ',');
  CheckText(&g_job, PMIX_HOSTNAME, with, name);
  CheckText(&g_job, PMIX_LOCAL_PEERS, with, peers);
  CheckNumber(&g_job, PMIX_NODEID, with, PMIX_UINT32, IdOf(node));
  CheckNumber(&g_job, PMIX_LOCAL_SIZE, with, PMIX_UINT32, count);
  CHECK(MustGetNumber(&g_job, PMIX_NODE_SIZE, with, PMIX_UINT32) >= count,
        "PMIX_NODE_SIZE is below the job's share");
  CheckNumber(&g_job, PMIX_LOCALLDR, with, PMIX_PROC_RANK,
              (uint32_t)atoi(peers));
  (void)MustGetBool(&g_job, PMIX_NODE_OVERSUBSCRIBED, with);
  (void)MustGetNumber(&g_job, PMIX_NUM_SLOTS, with, PMIX_UINT32);
  CHECK(MustGetNumber(&g_job, PMIX_MAX_PROCS, with, PMIX_UINT32) >= count,
        "PMIX_MAX_PROCS is below what runs there");
  CheckMemory(with);
  CheckLocalProcs(with, peers);
  free(ranks);
  free(nodes);
  free(peers);
  free(name);
}

static void NodeRealm(void) {
  const Directives flag = Flag(PMIX_NODE_INFO);
  CheckNode(&flag, IndexOf(g_self.rank));
  char *names = MustGetText(&g_job, PMIX_NODE_MAP_RAW, NULL);
  for (uint32_t node = 0; node < g_nodes; ++node) {
    Directives by_id = flag;
    AddU32(&by_id, PMIX_NODEID, IdOf(node));
    CheckNode(&by_id, node);
    char *name = ItemAt(names, ',', node);
    Directives by_name = flag;
    AddText(&by_name, PMIX_HOSTNAME, name);
    CheckNode(&by_name, node);
    free(name);
  }
  free(names);
  Directives unknown = flag;
  AddText(&unknown, PMIX_HOSTNAME, "no-such-node");
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_LOCAL_SIZE, &unknown);
  Directives beyond = flag;
  AddU32(&beyond, PMIX_NODEID, 1000000);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_LOCAL_SIZE, &beyond);
}

// Without directives, these keys refer to the caller's node.
static void LocalKeys(void) {
  char *peers = MustGetText(&g_job, PMIX_LOCAL_PEERS, NULL);
  CHECK(HasNumber(peers, g_self.rank), "local peers '%s'", peers);
  CheckNumber(&g_job, PMIX_LOCAL_SIZE, NULL, PMIX_UINT32, ItemsIn(peers, ','));
  CheckNumber(&g_job, PMIX_LOCALLDR, NULL, PMIX_PROC_RANK,
              (uint32_t)atoi(peers));
  CheckLocalProcs(NULL, peers);
  (void)MustGetNumber(&g_job, PMIX_NODE_SIZE, NULL, PMIX_UINT32);
  free(peers);
}

// ---------------------------------------------------------------- process ---

static void CheckProc(pmix_rank_t rank) {
  const pmix_proc_t proc = ProcOf(rank);
  const uint32_t app = AppOf(rank);
  CheckNumber(&proc, PMIX_RANK, NULL, PMIX_PROC_RANK, rank);
  CheckText(&proc, PMIX_NSPACE, NULL, g_self.nspace);
  CheckNumber(&proc, PMIX_GLOBAL_RANK, NULL, PMIX_PROC_RANK, Offset() + rank);
  CheckNumber(&proc, PMIX_APPNUM, NULL, PMIX_UINT32, app);
  CheckNumber(&proc, PMIX_APP_RANK, NULL, PMIX_PROC_RANK,
              rank - FirstOfApp(app));
  CheckNumber(&proc, PMIX_REINCARNATION, NULL, PMIX_UINT32, 0);
  pmix_value_t *id = MustGet(&proc, PMIX_PROCID, NULL, PMIX_PROC);
  CHECK(id->data.proc->rank == rank, "PMIX_PROCID of rank %u", rank);
  PMIX_VALUE_RELEASE(id);
  // PMIX_LOCAL_RANK is the rank's position in the map's list of its node.
  char *ranks = MustGetText(&g_job, PMIX_PROC_MAP_RAW, NULL);
  char *peers = ItemAt(ranks, ';', IndexOf(rank));
  const uint32_t local =
      MustGetNumber(&proc, PMIX_LOCAL_RANK, NULL, PMIX_UINT16);
  CHECK(local < ItemsIn(peers, ','), "local rank %u of '%s'", local, peers);
  char *item = ItemAt(peers, ',', local);
  CHECK((uint32_t)atoi(item) == rank, "local rank %u is rank %s", local, item);
  CHECK(MustGetNumber(&proc, PMIX_NODE_RANK, NULL, PMIX_UINT16) >= local,
        "node rank below local rank");
  free(item);
  free(peers);
  free(ranks);
}

// The process id is known from the start of a process until its end.
static void Pids(void) {
  PutU32(PMIX_GLOBAL, "own pid", (uint32_t)getpid());
  OK(PMIx_Commit());
  FenceCollect();
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t proc = ProcOf(rank);
    pmix_value_t *pid = MustGet(&proc, PMIX_PROC_PID, NULL, PMIX_PID);
    const uint32_t want = MustGetNumber(&proc, "own pid", NULL, PMIX_UINT32);
    CHECK((uint32_t)pid->data.pid == want, "rank %u has PID %d, not %u", rank,
          (int)pid->data.pid, want);
    PMIX_VALUE_RELEASE(pid);
    MustFail(PMIX_ERR_NOT_FOUND, &proc, PMIX_EXIT_CODE, NULL);
    MustFail(PMIX_ERR_NOT_FOUND, &proc, PMIX_EXIT_CODE, &immediate);
  }
  const pmix_proc_t beyond = ProcOf(g_size);
  MustFail(PMIX_ERR_NOT_FOUND, &beyond, PMIX_PROC_PID, NULL);
}

static void Peers(void) {
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    CheckProc(rank);
    const pmix_proc_t proc = ProcOf(rank);
    pmix_value_t *where = NULL;
    const pmix_status_t status =
        GetWith(&proc, PMIX_LOCALITY_STRING, &optional, &where);
    if (IsLocal(rank)) {
      CHECK(status == PMIX_SUCCESS && where->type == PMIX_STRING,
            "locality of rank %u: %s", rank, PMIx_Error_string(status));
      PMIX_VALUE_RELEASE(where);
    } else {
      CHECK(status == PMIX_ERR_NOT_FOUND, "rank %u is not here, yet locality",
            rank);
    }
  }
  const pmix_proc_t beyond = ProcOf(g_size);
  MustFail(PMIX_ERR_NOT_FOUND, &beyond, PMIX_LOCAL_RANK, NULL);
}

static void Own(void) {
  char *directory = MustGetText(&g_self, PMIX_PROCDIR, NULL);
  CheckDirectory(PMIX_PROCDIR, directory);
  free(directory);
  pmix_value_t *id = MustGet(NULL, PMIX_PROCID, NULL, PMIX_PROC);
  CHECK(id->data.proc->rank == g_self.rank &&
            strcmp(id->data.proc->nspace, g_self.nspace) == 0,
        "PMIX_PROCID of the caller is rank %u", id->data.proc->rank);
  PMIX_VALUE_RELEASE(id);
  CheckText(NULL, PMIX_HOSTNAME, NULL, getenv("PMIX_HOSTNAME"));
}

// Requests reserved keys of a job that does not exist.
static void Stranger(void) {
  pmix_proc_t stranger;
  PMIX_PROC_LOAD(&stranger, "no-such-job", PMIX_RANK_WILDCARD);
  const Directives optional = Flag(PMIX_OPTIONAL);
  MustFail(PMIX_ERR_NOT_FOUND, &stranger, PMIX_JOB_SIZE, &optional);
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  MustFail(PMIX_ERR_NOT_FOUND, &stranger, PMIX_JOB_SIZE, &immediate);
  MustFail(PMIX_ERR_NOT_FOUND, &stranger, PMIX_JOB_SIZE, NULL);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  g_apps = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
  g_allocated = argc > 5 ? (uint32_t)atoi(argv[5]) : g_nodes;
  SessionRealm();
  const Directives session = Flag(PMIX_SESSION_INFO);
  Allocation(NULL);
  Allocation(&session);
  JobRealm();
  Maps();
  AppRealm();
  NodeRealm();
  LocalKeys();
  Peers();
  Pids();
  Own();
  Stranger();
  Barrier();
  return Finish();
}
