/* Checks that the host's data about the job, its nodes and each process agree.
 */
#include "check.h"

static char *get_text(pmix_rank_t rank, const char *key,
                      const pmix_info_t info[], size_t ninfo) {
  pmix_proc_t proc = peer(rank);
  pmix_value_t *value = NULL;
  char *text;
  CHECK_OK(PMIx_Get(&proc, key, info, ninfo, &value));
  CHECK(value->type == PMIX_STRING && value->data.string != NULL);
  text = strdup(value->data.string);
  PMIX_VALUE_RELEASE(value);
  return text;
}

/* Returns whether `list`, ranks separated by commas, contains `rank`. */
static bool has_rank(const char *list, pmix_rank_t rank) {
  char *copy = strdup(list);
  char *state = NULL;
  bool found = false;
  for (char *item = strtok_r(copy, ",", &state); item != NULL;
       item = strtok_r(NULL, ",", &state)) {
    found |= (pmix_rank_t)strtoul(item, NULL, 10) == rank;
  }
  free(copy);
  return found;
}

static void check_process(pmix_rank_t rank, uint32_t num_nodes) {
  uint32_t node = get_number(rank, PMIX_NODEID);
  char *host = get_text(rank, PMIX_HOSTNAME, NULL, 0);
  char *peers = get_text(rank, PMIX_LOCAL_PEERS, NULL, 0);
  CHECK(node < num_nodes);
  CHECK(has_rank(peers, rank));
  CHECK(get_number(rank, PMIX_RANK) == rank);

  /* The number and the name of the rank's node must both select this node. */
  bool flag = true;
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], PMIX_NODE_INFO, &flag, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_NODEID, &node, PMIX_UINT32);
  char *same = get_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, info, 2);
  CHECK(strcmp(same, peers) == 0);
  free(same);
  PMIX_INFO_DESTRUCT(&info[1]);
  PMIX_INFO_LOAD(&info[1], PMIX_HOSTNAME, host, PMIX_STRING);
  same = get_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, info, 2);
  CHECK(strcmp(same, peers) == 0);
  free(same);
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
  free(host);
  free(peers);
}

int main(int argc, char **argv) {
  begin(argc, argv);
  uint32_t num_nodes = get_number(PMIX_RANK_WILDCARD, PMIX_NUM_NODES);
  uint32_t local_size = get_number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
  CHECK(num_nodes >= 1 && num_nodes <= job_size);
  CHECK(get_number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE) >= 1);
  CHECK(get_number(self.rank, PMIX_LOCAL_RANK) < local_size);
  CHECK(get_number(self.rank, PMIX_APP_SIZE) <= job_size);
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    check_process(rank, num_nodes);
  }

  pmix_proc_t *procs = NULL;
  size_t count = 0;
  CHECK_OK(PMIx_Resolve_peers(NULL, self.nspace, &procs, &count));
  CHECK(count == local_size);
  PMIX_PROC_FREE(procs, count);
  char *nodes = NULL;
  CHECK_OK(PMIx_Resolve_nodes(self.nspace, &nodes));
  free(nodes);
  return end("job_info");
}
