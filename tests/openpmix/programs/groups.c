/* Tests process groups with libraries of all kinds: all processes make a group
 * and get one context id for it, the even ranks make another group meanwhile,
 * and each group ends. */
#include "check.h"

static const pmix_info_t *find(const pmix_info_t *results, size_t count,
                               const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], key)) return &results[i];
  }
  return NULL;
}

static size_t construct(const char *name, const pmix_proc_t *procs, size_t n) {
  pmix_info_t wanted;
  pmix_info_t *results = NULL;
  size_t count = 0;
  bool yes = true;
  PMIX_INFO_LOAD(&wanted, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
  OK(PMIx_Group_construct(name, procs, n, &wanted, 1, &results, &count));
  const pmix_info_t *context = find(results, count, PMIX_GROUP_CONTEXT_ID);
  TRUE_(context != NULL);
  EXPECT(PMIX_SIZE, context->value.type);
  const size_t id = context->value.data.size;
  TRUE_(id != 0);
  PMIX_INFO_FREE(results, count);
  return id;
}

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
  pmix_proc_t even[128];
  size_t half = 0;
  for (uint32_t rank = 0; rank < job_size; rank += 2) {
    even[half++] = rank_of_job(rank);
  }
  size_t last = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const size_t id = construct("everybody", &all, 1);
    if (me.rank % 2 == 0) TRUE_(construct("half", even, half) != id);
    TRUE_(id != last);
    last = id;
    if (me.rank % 2 == 0) OK(PMIx_Group_destruct("half", NULL, 0));
    OK(PMIx_Group_destruct("everybody", NULL, 0));
  }
  put_u64("context", last);
  OK(PMIx_Commit());
  fence(1);
  for (uint32_t rank = 0; rank < job_size; ++rank) {
    expect_u64(rank, "context", last);
  }
  return end("groups");
}
