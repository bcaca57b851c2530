// PMIx_Query_info and PMIx_Query_info_nb: results, missing data, the processes
// of the job on all its nodes, and supported attributes. The rules of part QRY
// are named beside their checks. Not here: QRY-04, because the results are flat
// (docs/queries.md); QRY-10, in client/abi/query_abi_test.cc; QRY-12, in
// lifecycle.c; QRY-13, because all jobs of a test belong to one user
// (server/core/query/queries_test.cc); QRY-15 and QRY-16, in resolve.c.
#include <pmix_server.h>

#include "check.h"
#include "nonblocking.h"

static pmix_info_t *g_results;
static size_t g_num_results;

// Frees the results of the last blocking call.
static void Clear(void) {
  if (g_results != NULL) PMIX_INFO_FREE(g_results, g_num_results);
  g_results = NULL;
  g_num_results = 7;
}

static pmix_query_t QueryOf(char **keys, Directives *qualifiers) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  if (qualifiers != NULL && qualifiers->count > 0) {
    query.qualifiers = qualifiers->info;
    query.nqual = qualifiers->count;
  }
  return query;
}

// Queries one key, which must have a result.
static const pmix_value_t *Ask(char *key, Directives *qualifiers) {
  char *keys[] = {key, NULL};
  pmix_query_t query = QueryOf(keys, qualifiers);
  Clear();
  const pmix_status_t status =
      PMIx_Query_info(&query, 1, &g_results, &g_num_results);
  CHECK(status == PMIX_SUCCESS, "%s: %s", key, PMIx_Error_string(status));
  CHECK(g_num_results == 1, "%s: %zu answers", key, g_num_results);
  CHECK(PMIX_CHECK_KEY(&g_results[0], key), "%s", g_results[0].key);
  return &g_results[0].value;
}

static bool HasNone(char *key, Directives *qualifiers) {
  char *keys[] = {key, NULL};
  pmix_query_t query = QueryOf(keys, qualifiers);
  Clear();
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_Query_info(&query, 1, &g_results, &g_num_results));
  return g_results == NULL && g_num_results == 0;
}

static void AddRank(Directives *list, pmix_rank_t rank) {
  PMIX_INFO_LOAD(NextInfo(list, PMIX_RANK), PMIX_RANK, &rank, PMIX_PROC_RANK);
}

static void AddProcid(Directives *list, pmix_rank_t rank) {
  pmix_proc_t proc = g_job;
  proc.rank = rank;
  PMIX_INFO_LOAD(NextInfo(list, PMIX_PROCID), PMIX_PROCID, &proc, PMIX_PROC);
}

// QRY-01, QRY-02, QRY-03, QRY-05, QRY-06: the status shows whether all, some or
// no keys have an answer.
static void HowManyHaveAnAnswer(void) {
  char *both[] = {PMIX_QUERY_NAMESPACES, PMIX_JOB_SIZE, NULL};
  char *one[] = {PMIX_JOB_SIZE, "no.such.key", NULL};
  pmix_query_t queries[] = {QueryOf(both, NULL), QueryOf(one, NULL)};
  Clear();
  OK(PMIx_Query_info(queries, 1, &g_results, &g_num_results));
  CHECK(g_num_results == 2, "%zu answers", g_num_results);
  CHECK(strstr(g_results[0].value.data.string, g_job.nspace) != NULL, "%s",
        g_results[0].value.data.string);
  CHECK(g_results[1].value.data.uint32 == g_size, "%u",
        g_results[1].value.data.uint32);
  Clear();
  EXPECT(PMIX_ERR_PARTIAL_SUCCESS,
         PMIx_Query_info(queries, 2, &g_results, &g_num_results));
  CHECK(g_num_results == 3, "the size twice: %zu", g_num_results);
  CHECK(HasNone("no.such.key", NULL), "results with PMIX_ERR_NOT_FOUND");
  // These known keys have no data: there is no queue, allocation or time limit.
  char *absent[] = {PMIX_QUERY_QUEUE_LIST, PMIX_QUERY_QUEUE_STATUS,
                    PMIX_QUERY_ALLOC_STATUS, PMIX_QUERY_AUTHORIZATIONS,
                    PMIX_TIME_REMAINING};
  for (int i = 0; i < 5; ++i) {
    CHECK(HasNone(absent[i], NULL), "%s", absent[i]);
  }
}

// QRY-07, QRY-08, QRY-09: the qualifiers select the process, node or job.
static void Qualified(void) {
  const pmix_rank_t last = g_size - 1;
  Directives process = {.count = 0};
  AddProcid(&process, last);
  CHECK(Ask(PMIX_RANK, &process)->data.rank == last, "PMIX_PROCID");
  CHECK(Ask(PMIX_PROC_PID, &process)->data.pid > 0, "PMIX_PROC_PID");
  CHECK(Ask(PMIX_PROC_STATE_STATUS, &process)->data.state ==
            PMIX_PROC_STATE_CONNECTED,
        "%d", g_results[0].value.data.state);
  Directives pair = {.count = 0};
  AddText(&pair, PMIX_NSPACE, g_job.nspace);
  AddRank(&pair, last);
  CHECK(Ask(PMIX_RANK, &pair)->data.rank == last, "PMIX_NSPACE, PMIX_RANK");
  const char *realms[] = {PMIX_SESSION_INFO, PMIX_JOB_INFO, PMIX_APP_INFO,
                          PMIX_NODE_INFO};
  char *keys[] = {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_APP_SIZE, PMIX_HOSTNAME};
  for (int i = 0; i < 4; ++i) {
    Directives realm = Flag(realms[i]);
    AddFlag(&realm, PMIX_QUERY_REFRESH_CACHE, true);
    CHECK(Ask(keys[i], &realm)->type != PMIX_UNDEF, "%s", realms[i]);
  }
  const struct {
    char *realm, *number, *key;
  } numbered[] = {{PMIX_SESSION_INFO, PMIX_SESSION_ID, PMIX_UNIV_SIZE},
                  {PMIX_APP_INFO, PMIX_APPNUM, PMIX_APP_SIZE},
                  {PMIX_NODE_INFO, PMIX_NODEID, PMIX_HOSTNAME}};
  for (int i = 0; i < 3; ++i) {
    Directives own = Flag(numbered[i].realm);
    const bool of_session = i == 0;
    AddU32(&own, numbered[i].number,
           MustGetNumber(of_session ? &g_job : &g_self, numbered[i].number,
                         NULL, PMIX_UINT32));
    for (size_t d = 0; d < own.count; ++d) PMIX_INFO_REQUIRED(&own.info[d]);
    CHECK(Ask(numbered[i].key, &own)->type != PMIX_UNDEF, "%s",
          numbered[i].number);
    own.info[1].value.data.uint32 += 1000;
    CHECK(HasNone(numbered[i].key, &own), "an unknown %s", numbered[i].number);
  }
  AddRank(&process, last);
  char *wanted[] = {PMIX_RANK, NULL};
  pmix_query_t query = QueryOf(wanted, &process);
  Clear();
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Query_info(&query, 1, &g_results, &g_num_results));
  CHECK(g_results == NULL && g_num_results == 0, "results with an error");
}

// A qualifier selects a realm. Keys of other realms have no value there.
static void OfOtherRealms(void) {
  static const struct {
    const char *realm;
    char *key;
  } kNone[] = {{PMIX_SESSION_INFO, PMIX_JOB_SIZE},
               {PMIX_JOB_INFO, PMIX_HOSTNAME},
               {PMIX_APP_INFO, PMIX_HOSTNAME},
               {PMIX_NODE_INFO, PMIX_JOB_SIZE}};
  for (size_t i = 0; i < sizeof(kNone) / sizeof(*kNone); ++i) {
    Directives realm = Flag(kNone[i].realm);
    CHECK(HasNone(kNone[i].key, &realm), "%s of %s", kNone[i].key,
          kNone[i].realm);
  }
}

// GEN-11: the host does not support a required qualifier.
static void Required(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  Directives strange = Flag("no.such.qualifier");
  PMIX_INFO_REQUIRED(&strange.info[0]);
  pmix_query_t query = QueryOf(keys, &strange);
  Clear();
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Query_info(&query, 1, &g_results, &g_num_results));
  CHECK(g_results == NULL && g_num_results == 0, "results with an error");
}

// Each process occurs once, with its own number, on whichever node it runs.
static void Tables(void) {
  Directives fresh = Flag(PMIX_QUERY_REFRESH_CACHE);
  const pmix_data_array_t *table =
      Ask(PMIX_QUERY_PROC_TABLE, &fresh)->data.darray;
  CHECK(table->type == PMIX_PROC_INFO && table->size == g_size, "%zu rows",
        table->size);
  const pmix_proc_info_t *rows = table->array;
  for (uint32_t r = 0; r < g_size; ++r) {
    CHECK(rows[r].proc.rank == r && rows[r].pid > 0, "row %u: %u, %d", r,
          rows[r].proc.rank, rows[r].pid);
    CHECK(rows[r].state == PMIX_PROC_STATE_CONNECTED, "row %u: %d", r,
          rows[r].state);
    CHECK(rows[r].hostname != NULL && rows[r].executable_name != NULL, "row %u",
          r);
  }
  CHECK(rows[g_self.rank].pid == getpid(), "%d", rows[g_self.rank].pid);
  table = Ask(PMIX_QUERY_LOCAL_PROC_TABLE, &fresh)->data.darray;
  CHECK(table->size >= 1 && table->size <= g_size, "%zu rows", table->size);
  CHECK(g_nodes == 1 || table->size < g_size, "all are local");
  const size_t local = table->size;
  AddFlag(&fresh, PMIX_QUERY_LOCAL_ONLY, true);
  table = Ask(PMIX_QUERY_PROC_TABLE, &fresh)->data.darray;
  CHECK(table->size == local, "%zu rows, %zu local", table->size, local);
}

// Each server that a tool may connect to reports its name and address.
static void Servers(void) {
  const pmix_data_array_t *servers =
      Ask(PMIX_QUERY_AVAIL_SERVERS, NULL)->data.darray;
  const pmix_info_t *server = servers->array;
  CHECK(servers->size == 1 && PMIX_CHECK_KEY(server, PMIX_SERVER_INFO_ARRAY),
        "%zu servers", servers->size);
  const pmix_data_array_t *facts = server->value.data.darray;
  const pmix_info_t *fact = facts->array;
  CHECK(facts->size >= 3 && PMIX_CHECK_KEY(fact, PMIX_NSPACE), "%zu facts",
        facts->size);
}

static void Jobs(void) {
  Directives own = {.count = 0};
  AddText(&own, PMIX_NSPACE, g_job.nspace);
  CHECK(Ask(PMIX_QUERY_JOB_STATUS, &own)->data.status == PMIX_SUCCESS,
        "a job that runs");
  const pmix_data_array_t *jobs =
      Ask(PMIX_QUERY_NAMESPACE_INFO, &own)->data.darray;
  CHECK(jobs->type == PMIX_INFO && jobs->size == 1, "%zu jobs", jobs->size);
  Directives none = {.count = 0};
  AddText(&none, PMIX_NSPACE, "no such job");
  CHECK(HasNone(PMIX_QUERY_JOB_STATUS, &none), "PMIX_QUERY_JOB_STATUS");
  CHECK(HasNone(PMIX_QUERY_PROC_TABLE, &none), "PMIX_QUERY_PROC_TABLE");
  CHECK(Ask(PMIX_QUERY_NUM_PSETS, NULL)->data.size == 0, "process sets");
}

static void Memory(void) {
  Directives fresh = Flag(PMIX_QUERY_REFRESH_CACHE);
  CHECK(Ask(PMIX_DAEMON_MEMORY, &fresh)->data.fval > 0, "PMIX_DAEMON_MEMORY");
  CHECK(Ask(PMIX_CLIENT_AVG_MEMORY, &fresh)->data.fval > 0,
        "PMIX_CLIENT_AVG_MEMORY");
  const pmix_data_array_t *all =
      Ask(PMIX_QUERY_MEMORY_USAGE, &fresh)->data.darray;
  CHECK(all->size == g_size, "%zu processes", all->size);
  AddFlag(&fresh, PMIX_QUERY_REPORT_AVG, true);
  AddFlag(&fresh, PMIX_QUERY_REPORT_MINMAX, true);
  all = Ask(PMIX_QUERY_MEMORY_USAGE, &fresh)->data.darray;
  const pmix_info_t *infos = all->array;
  CHECK(all->size == 3 && PMIX_CHECK_KEY(&infos[0], PMIX_CLIENT_AVG_MEMORY),
        "%zu", all->size);
}

// QRY-11: the attributes of a function at each level.
static void Support(void) {
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get", NULL};
  const char *levels[] = {PMIX_CLIENT_ATTRIBUTES, PMIX_HOST_ATTRIBUTES,
                          PMIX_TOOL_ATTRIBUTES, PMIX_SERVER_ATTRIBUTES};
  for (int i = 0; i < 4; ++i) {
    Directives level = Flag(levels[i]);
    pmix_query_t query = QueryOf(keys, &level);
    Clear();
    const pmix_status_t status =
        PMIx_Query_info(&query, 1, &g_results, &g_num_results);
    // Only the levels of clients and hosts must have attributes.
    if (i > 1 && status == PMIX_ERR_NOT_FOUND) continue;
    OK(status);
    const pmix_info_t *one = g_results[0].value.data.darray->array;
    CHECK(PMIX_CHECK_KEY(one, levels[i]), "%s", one->key);
    CHECK(one->value.data.darray->type == PMIX_REGATTR, "%s", levels[i]);
  }
}

// A debugger uses this query to decide whether processes can stop in PMIx_Init.
static void StopInInit(void) {
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Init", NULL};
  Directives client = Flag(PMIX_CLIENT_ATTRIBUTES);
  pmix_query_t query = QueryOf(keys, &client);
  Clear();
  OK(PMIx_Query_info(&query, 1, &g_results, &g_num_results));
  const pmix_info_t *level = g_results[0].value.data.darray->array;
  const pmix_data_array_t *attributes = level->value.data.darray;
  bool found = false;
  for (size_t i = 0; i < attributes->size; ++i) {
    const pmix_regattr_t *one = (pmix_regattr_t *)attributes->array + i;
    found |= strcmp(one->string, PMIX_DEBUG_STOP_IN_INIT) == 0;
  }
  CHECK(found, "%zu attributes of PMIx_Init", attributes->size);
}

// QRY-11: the functions of each level. The host is the agent.
static void Functions(void) {
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, NULL};
  const struct {
    const char *level, *has, *lacks;
  } all[] = {{PMIX_CLIENT_FUNCTIONS, "PMIx_Init", "PMIx_tool_init"},
             {PMIX_HOST_FUNCTIONS, "PMIx_Query_info", "PMIx_tool_init"},
             {PMIX_TOOL_FUNCTIONS, "PMIx_tool_init", "PMIx_server_init"},
             {PMIX_SERVER_FUNCTIONS, "PMIx_server_init", "PMIx_tool_init"}};
  for (int i = 0; i < 4; ++i) {
    Directives level = Flag(all[i].level);
    pmix_query_t query = QueryOf(keys, &level);
    Clear();
    OK(PMIx_Query_info(&query, 1, &g_results, &g_num_results));
    const char *names = g_results[0].value.data.string;
    CHECK(strstr(names, all[i].has) != NULL, "%s: %s", all[i].level, names);
    CHECK(strstr(names, all[i].lacks) == NULL, "%s: %s", all[i].level, names);
  }
}

static void OfSupport(void) {
  char *keys[] = {PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT,
                  PMIX_QUERY_SUPPORTED_KEYS};
  for (int i = 0; i < 3; ++i) {
    CHECK(Ask(keys[i], NULL)->type == PMIX_STRING, "%s", keys[i]);
  }
  const char *debug = Ask(PMIX_QUERY_DEBUG_SUPPORT, NULL)->data.string;
  const char *stops[] = {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,
                         PMIX_DEBUG_STOP_IN_APP, PMIX_DEBUGGER_DAEMONS,
                         PMIX_QUERY_PROC_TABLE};
  for (int i = 0; i < 5; ++i) {
    CHECK(strstr(debug, stops[i]) != NULL, "no %s in %s", stops[i], debug);
  }
  Directives qualifiers = Flag(PMIX_QUERY_SUPPORTED_QUALIFIERS);
  const char *heeded = Ask(PMIX_QUERY_PROC_TABLE, &qualifiers)->data.string;
  CHECK(strstr(heeded, PMIX_QUERY_LOCAL_ONLY) != NULL, "%s", heeded);
}

// QRY-14: receives the results of a non-blocking query.
static void OnAnswers(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                      void *call, pmix_release_cbfunc_t release,
                      void *release_cbdata) {
  CHECK((ninfo > 0) == (info != NULL), "%zu answers", ninfo);
  CHECK((ninfo > 0) ==
            (status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS),
        "%zu answers with %d", ninfo, status);
  if (release != NULL) release(release_cbdata);
  Answered(call, status);
}

static void NonBlocking(void) {
  char *known[] = {PMIX_QUERY_NAMESPACES, NULL};
  char *here[] = {PMIX_JOB_SIZE, NULL};
  char *mixed[] = {PMIX_JOB_SIZE, "no.such.key", NULL};
  char *none[] = {"no.such.key", NULL};
  Directives fresh = Flag(PMIX_QUERY_REFRESH_CACHE);
  pmix_query_t query = QueryOf(known, &fresh);
  ANSWERS(PMIX_SUCCESS, PMIx_Query_info_nb, &query, 1, OnAnswers);
  query = QueryOf(here, NULL);
  ANSWERS(PMIX_SUCCESS, PMIx_Query_info_nb, &query, 1, OnAnswers);
  query = QueryOf(mixed, NULL);
  ANSWERS(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Query_info_nb, &query, 1, OnAnswers);
  query = QueryOf(none, NULL);
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Query_info_nb, &query, 1, OnAnswers);
  Directives strange = Flag("no.such.qualifier");
  PMIX_INFO_REQUIRED(&strange.info[0]);
  query = QueryOf(known, &strange);
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Query_info_nb, &query, 1, OnAnswers);
  // These qualifiers change the answers for other keys.
  const char *others[] = {PMIX_SESSION_ID, PMIX_APPNUM, PMIX_NODEID,
                          PMIX_PSET_NAME};
  for (int i = 0; i < 4; ++i) {
    Directives other = {.count = 0};
    if (i < 3) AddU32(&other, others[i], 0);
    if (i == 3) AddText(&other, others[i], "set");
    query = QueryOf(known, &other);
    ANSWERS(PMIX_SUCCESS, PMIx_Query_info_nb, &query, 1, OnAnswers);
    PMIX_INFO_REQUIRED(&other.info[0]);
    query = QueryOf(known, &other);
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Query_info_nb, &query, 1, OnAnswers);
  }
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Query_info_nb, NULL, 0, OnAnswers);
}

static void Declared(void) {
  char function[] = "PMIx_Own";
  char attribute[] = "PMIX_TIMEOUT";
  char *attributes[] = {attribute, NULL};
  OK(PMIx_Register_attributes(function, attributes));
  char *keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, function, NULL};
  Directives host = Flag(PMIX_HOST_ATTRIBUTES);
  pmix_query_t query = QueryOf(keys, &host);
  Clear();
  OK(PMIx_Query_info(&query, 1, &g_results, &g_num_results));
  CHECK(g_num_results == 1, "%zu answers", g_num_results);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Barrier();
  HowManyHaveAnAnswer();
  Qualified();
  OfOtherRealms();
  Required();
  Tables();
  Servers();
  Jobs();
  Memory();
  Support();
  StopInInit();
  Functions();
  OfSupport();
  NonBlocking();
  Declared();
  Clear();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
