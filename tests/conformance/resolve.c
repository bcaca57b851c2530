// PMIx_Resolve_peers and PMIx_Resolve_nodes.
#include "check.h"

static bool Among(const pmix_proc_t *procs, size_t count, pmix_rank_t rank) {
  for (size_t i = 0; i < count; ++i) {
    if (procs[i].rank == rank && strcmp(procs[i].nspace, g_self.nspace) == 0) {
      return true;
    }
  }
  return false;
}

// The result must be exactly the job's processes on that node.
static void CheckNode(const char *name, const char *nspace, uint32_t node) {
  pmix_proc_t *procs = NULL;
  size_t count = 0;
  uint32_t expected = 0;
  OK(PMIx_Resolve_peers(name, nspace, &procs, &count));
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const bool there = NodeOf(rank) == node;
    expected += there;
    CHECK(Among(procs, count, rank) == there, "rank %u and node %s", rank,
          name == NULL ? "(own)" : name);
  }
  // Another job may run on this node as well.
  CHECK(nspace == NULL ? count >= expected : count == expected,
        "%zu processes, not %u", count, expected);
  PMIX_PROC_FREE(procs, count);
}

static void Peers(const char *nodes) {
  char *copy = strdup(nodes);
  uint32_t node = 0;
  char *rest = NULL;
  for (char *name = strtok_r(copy, ",", &rest); name != NULL;
       name = strtok_r(NULL, ",", &rest)) {
    CheckNode(name, g_self.nspace, node);
    CheckNode(name, NULL, node);
    ++node;
  }
  CHECK(node == g_nodes, "%u nodes in '%s'", node, nodes);
  free(copy);
  CheckNode(NULL, g_self.nspace, NodeOf(g_self.rank));
  CheckNode(NULL, NULL, NodeOf(g_self.rank));
}

static void Nobody(void) {
  pmix_proc_t *procs = &g_self;
  size_t count = 7;
  const pmix_status_t status =
      PMIx_Resolve_peers("no-such-node", g_self.nspace, &procs, &count);
  CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND, "%s",
        PMIx_Error_string(status));
  CHECK(procs == NULL && count == 0, "%zu processes on no node", count);
  procs = &g_self;
  count = 7;
  pmix_nspace_t unknown;
  PMIX_LOAD_NSPACE(unknown, "no-such-job");
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Resolve_peers(NULL, unknown, &procs, &count));
  CHECK(procs == NULL && count == 0, "%zu processes of no job", count);
  char *nodes = "unset";
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Resolve_nodes(unknown, &nodes));
  CHECK(nodes == NULL, "nodes '%s' of no job", nodes);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Resolve_nodes(g_self.nspace, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Resolve_peers(NULL, g_self.nspace, NULL, &count));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Resolve_peers(NULL, g_self.nspace, &procs, NULL));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  char *list = MustGetText(&g_job, PMIX_NODE_LIST, NULL);
  char *nodes = NULL;
  OK(PMIx_Resolve_nodes(g_self.nspace, &nodes));
  CHECK(strcmp(nodes, list) == 0, "nodes '%s', job data say '%s'", nodes, list);
  free(nodes);
  OK(PMIx_Resolve_nodes(NULL, &nodes));
  // Nodes of other jobs follow this job's own.
  CHECK(strncmp(nodes, list, strlen(list)) == 0, "all nodes '%s', not '%s'",
        nodes, list);
  Peers(list);
  free(nodes);
  free(list);
  Nobody();
  Barrier();
  return Finish();
}
