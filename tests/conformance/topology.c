// Topology, cpusets, locality and distances. WORD: "bound" if the processes
// must be bound.
#define _GNU_SOURCE  // cpu_set_t
#include <pmix_server.h>
#include <sched.h>

#include "check.h"

static void Load(void) {
  pmix_topology_t topology = {NULL, NULL};
  OK(PMIx_Load_topology(&topology));
  CHECK(topology.source != NULL && strncmp(topology.source, "hwloc", 5) == 0,
        "source %s", topology.source == NULL ? "(none)" : topology.source);
  CHECK(topology.topology != NULL, "no topology");
  char *printed = NULL;
  OK(PMIx_Data_print(&printed, NULL, &topology, PMIX_TOPO));
  CHECK(strstr(printed, "Machine 1") != NULL && strstr(printed, "PU ") != NULL,
        "printed: %s", printed);
  free(printed);
  // FAB-08: the topology can be loaded by name. The library frees both
  // topologies after the session has ended.
  pmix_topology_t named = {(char *)"hwloc", NULL};
  OK(PMIx_Load_topology(&named));
  CHECK(named.topology != NULL, "no topology of hwloc");
  pmix_topology_t other = {"another-library", NULL};
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Load_topology(&other));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Load_topology(NULL));
}

// The CPUs that the process may use must be the same for the kernel and for
// PMIx.
static void Cpuset(pmix_bind_envelope_t envelope) {
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  OK(PMIx_Get_cpuset(&cpuset, envelope));
  char *text = NULL;
  OK(PMIx_server_generate_cpuset_string(&cpuset, &text));
  CHECK(strncmp(text, "hwloc:", 6) == 0, "cpuset '%s'", text);
  pmix_cpuset_t parsed;
  PMIX_CPUSET_CONSTRUCT(&parsed);
  OK(PMIx_Parse_cpuset_string(text, &parsed));
  char *again = NULL;
  OK(PMIx_server_generate_cpuset_string(&parsed, &again));
  CHECK(strcmp(text, again) == 0, "'%s' became '%s'", text, again);
  cpu_set_t kernel;
  CHECK(sched_getaffinity(0, sizeof(kernel), &kernel) == 0, "no affinity");
  int count = 0;
  char *rest = NULL;
  for (char *part = strtok_r(again + 6, ",", &rest); part != NULL;
       part = strtok_r(NULL, ",", &rest)) {
    int from = 0, to = 0;
    const int numbers = sscanf(part, "%d-%d", &from, &to);
    if (numbers == 1) to = from;
    for (int cpu = from; cpu <= to; ++cpu, ++count) {
      CHECK(CPU_ISSET((size_t)cpu, &kernel), "CPU %d is in '%s'", cpu, text);
    }
  }
  CHECK(count == CPU_COUNT(&kernel), "%d CPUs in '%s'", count, text);
  free(text);
  free(again);
}

// A cpuset can be put and retrieved like any other value.
static void Posted(void) {
  char text[32];
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  snprintf(text, sizeof(text), "hwloc:%u-%u", g_self.rank, g_self.rank + 3);
  OK(PMIx_Parse_cpuset_string(text, &cpuset));
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_PROC_CPUSET;
  value.data.cpuset = &cpuset;
  OK(PMIx_Put(PMIX_GLOBAL, "cpuset", &value));
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *got = MustGet(&peer, "cpuset", NULL, PMIX_PROC_CPUSET);
    char *back = NULL;
    OK(PMIx_server_generate_cpuset_string(got->data.cpuset, &back));
    snprintf(text, sizeof(text), "hwloc:%u-%u", rank, rank + 3);
    CHECK(strcmp(text, back) == 0, "'%s' became '%s'", text, back);
    free(back);
    PMIX_VALUE_RELEASE(got);
  }
}

static void WrongCpusets(void) {
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string(NULL, &cpuset));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Parse_cpuset_string("hwloc:0", NULL));
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Parse_cpuset_string("other:0", &cpuset));
  CHECK(PMIx_Parse_cpuset_string("hwloc:x-y", &cpuset) < 0, "no cpuset");
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get_cpuset(NULL, PMIX_CPUBIND_PROCESS));
}

// The locality of two processes of one node, computed from the job's data.
static void Locality(void) {
  char *own = MustGetText(&g_self, PMIX_LOCALITY_STRING, NULL);
  pmix_locality_t shared = 0;
  OK(PMIx_Get_relative_locality(own, own, &shared));
  CHECK((shared & PMIX_LOCALITY_SHARE_NODE) != 0, "not on its own node: %x",
        shared);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (!IsLocal(rank)) continue;
    const pmix_proc_t peer = ProcOf(rank);
    char *other = MustGetText(&peer, PMIX_LOCALITY_STRING, NULL);
    OK(PMIx_Get_relative_locality(own, other, &shared));
    CHECK((shared & PMIX_LOCALITY_SHARE_NODE) != 0, "rank %u: %x", rank,
          shared);
    free(other);
  }
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality(own, NULL, &shared));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get_relative_locality(own, own, NULL));
  free(own);
}

// Returns the text of a cpuset from job data, with or without its source.
static char *WithSource(const char *cpus) {
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  OK(PMIx_Parse_cpuset_string(cpus, &cpuset));
  char *text = NULL;
  OK(PMIx_server_generate_cpuset_string(&cpuset, &text));
  return text;
}

// The list has one text for each local process, in the order of
// PMIX_LOCAL_PEERS.
static void LocalCpusets(const char *own) {
  pmix_value_t *value =
      MustGet(&g_job, PMIX_LOCAL_CPUSETS, NULL, PMIX_DATA_ARRAY);
  const pmix_data_array_t *array = value->data.darray;
  CHECK(array->type == PMIX_STRING, "an array of %s",
        PMIx_Data_type_string(array->type));
  const uint32_t local =
      MustGetNumber(&g_job, PMIX_LOCAL_SIZE, NULL, PMIX_UINT32);
  CHECK(array->size == local, "%zu cpusets of %u processes", array->size,
        local);
  const uint32_t place =
      MustGetNumber(&g_self, PMIX_LOCAL_RANK, NULL, PMIX_UINT16);
  char *text = WithSource(((char **)array->array)[place]);
  CHECK(strcmp(text, own) == 0, "%s, not %s", text, own);
  free(text);
  PMIX_VALUE_RELEASE(value);
}

// The process must run on the CPUs to which the launcher has bound it.
static void Binding(bool must) {
  pmix_value_t *bound = NULL;
  const Directives optional = Flag(PMIX_OPTIONAL);
  if (GetWith(&g_self, PMIX_CPUSET, &optional, &bound) != PMIX_SUCCESS) {
    CHECK(!must, "not bound");
    return;
  }
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  OK(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  char *text = NULL;
  OK(PMIx_server_generate_cpuset_string(&cpuset, &text));
  char *told = WithSource(bound->data.string);
  CHECK(strcmp(text, told) == 0, "bound to %s, runs on %s", told, text);
  free(told);
  LocalCpusets(text);
  pmix_value_t *bitmap =
      MustGet(&g_self, PMIX_CPUSET_BITMAP, NULL, PMIX_PROC_CPUSET);
  char *mapped = NULL;
  OK(PMIx_server_generate_cpuset_string(bitmap->data.cpuset, &mapped));
  CHECK(strcmp(text, mapped) == 0, "%s and %s", text, mapped);
  free(text);
  free(mapped);
  PMIX_VALUE_RELEASE(bitmap);
  PMIX_VALUE_RELEASE(bound);
}

typedef struct {
  Signal done;
  size_t count;
} Distances;

static void OnDistances(pmix_status_t status, pmix_device_distance_t *distances,
                        size_t count, void *cbdata,
                        pmix_release_cbfunc_t release, void *release_cbdata) {
  Distances *answer = cbdata;
  answer->count = count;
  CHECK(count == 0 || distances != NULL, "%zu distances, none given", count);
  if (release != NULL) release(release_cbdata);
  Raise(&answer->done, status);
}

static void Compute(void) {
  pmix_topology_t topology = {NULL, NULL};
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  OK(PMIx_Load_topology(&topology));
  OK(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  pmix_device_distance_t *distances = NULL;
  size_t count = 0;
  OK(PMIx_Compute_distances(&topology, &cpuset, NULL, 0, &distances, &count));
  for (size_t i = 0; i < count; ++i) {
    CHECK(distances[i].uuid != NULL && distances[i].osname != NULL,
          "device %zu has no name", i);
    CHECK(distances[i].mindist <= distances[i].maxdist, "device %s: %u to %u",
          distances[i].osname, distances[i].mindist, distances[i].maxdist);
  }
  Distances answer = {SIGNAL_INIT, 0};
  const pmix_status_t status = PMIx_Compute_distances_nb(
      &topology, &cpuset, NULL, 0, OnDistances, &answer);
  OK(status);
  OK(WaitFor(&answer.done, 1));
  CHECK(answer.count == count, "%zu distances, now %zu", count, answer.count);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Load();
  Cpuset(PMIX_CPUBIND_PROCESS);
  Cpuset(PMIX_CPUBIND_THREAD);
  Posted();
  WrongCpusets();
  Locality();
  Binding(argc > 3);
  Compute();
  Barrier();
  return Finish();
}
