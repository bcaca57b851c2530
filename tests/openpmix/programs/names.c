/* Publishes, looks up and unpublishes, blocking and non-blocking, and tests the
 * Standard's rules about ranges, persistence, waiting and duplicates. */
#include "check.h"

#define MAX_KEY 64

typedef struct {
  waiter_t waiter;
  size_t count;
  int number;
} found_t;

static void on_found(pmix_status_t status, pmix_pdata_t *data, size_t count,
                     void *cbdata) {
  found_t *found = (found_t *)cbdata;
  found->count = status == PMIX_SUCCESS ? count : 0;
  if (found->count > 0) found->number = data[0].value.data.integer;
  wake(&found->waiter, status);
}

static const char *key_of(const char *what, pmix_rank_t rank, char *key) {
  snprintf(key, MAX_KEY, "%s.%u", what, rank);
  return key;
}

static pmix_status_t publish(const char *key, int number,
                             pmix_data_range_t range,
                             pmix_persistence_t persistence) {
  pmix_info_t info[3];
  PMIX_INFO_LOAD(&info[0], PMIX_RANGE, &range, PMIX_DATA_RANGE);
  PMIX_INFO_LOAD(&info[1], key, &number, PMIX_INT);
  PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  return PMIx_Publish(info, 3);
}

static pmix_status_t lookup(const char *key, int *number,
                            pmix_rank_t *publisher) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, key);
  pmix_status_t rc = PMIx_Lookup(&data, 1, NULL, 0);
  if (rc == PMIX_SUCCESS) {
    EXPECT(PMIX_INT, data.value.type);
    TRUE_(PMIX_CHECK_NSPACE(data.proc.nspace, me.nspace));
    *number = data.value.data.integer;
    *publisher = data.proc.rank;
  }
  PMIX_PDATA_DESTRUCT(&data);
  return rc;
}

/* All ranks find the data that all ranks have published. */
static void everybodys(void) {
  char key[MAX_KEY];
  int number = 0;
  pmix_rank_t publisher = 0;
  OK(publish(key_of("name", me.rank, key), 100 + (int)me.rank,
             PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
  EXPECT(PMIX_ERR_DUPLICATE_KEY, publish(key, 1, PMIX_RANGE_SESSION,
                                         PMIX_PERSIST_APP));
  OK(publish(key, 1000, PMIX_RANGE_GLOBAL, PMIX_PERSIST_APP));
  fence(0);
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    OK(lookup(key_of("name", rank, key), &number, &publisher));
    EXPECT(100 + rank, number);
    EXPECT(rank, publisher);
  }
  EXPECT(PMIX_ERR_NOT_FOUND, lookup("no such name", &number, &publisher));
  EXPECT(PMIX_ERR_DUPLICATE_KEY,
         publish(key_of("name", (me.rank + 1) % job_size, key), 1,
                 PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
  fence(0);
}

static void ranges(void) {
  char key[MAX_KEY];
  int number = 0;
  pmix_rank_t publisher = 0;
  OK(publish("only mine", (int)me.rank, PMIX_RANGE_PROC_LOCAL,
             PMIX_PERSIST_APP));
  OK(publish(key_of("ours", me.rank, key), 7, PMIX_RANGE_NAMESPACE,
             PMIX_PERSIST_APP));
  fence(0);
  OK(lookup("only mine", &number, &publisher));
  EXPECT(me.rank, number);
  OK(lookup(key_of("ours", (me.rank + 1) % job_size, key), &number,
            &publisher));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         publish("manager's", 1, PMIX_RANGE_RM, PMIX_PERSIST_APP));
  fence(0);
}

/* The last rank waits for data that the first has not published yet. */
static void waiting(void) {
  const char *names[] = {"late one", "late two"};
  pmix_info_t info[2];
  int all = 0;
  int seconds = 60;
  PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  if (me.rank == job_size - 1) {
    pmix_pdata_t data[2];
    for (int i = 0; i < 2; ++i) {
      PMIX_PDATA_CONSTRUCT(&data[i]);
      PMIX_LOAD_KEY(data[i].key, names[i]);
    }
    OK(publish("I wait", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
    OK(PMIx_Lookup(data, 2, info, 2));
    EXPECT(11, data[0].value.data.integer);
    EXPECT(12, data[1].value.data.integer);
  }
  if (me.rank == 0) {
    pmix_pdata_t data;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "I wait");
    OK(PMIx_Lookup(&data, 1, info, 2));
    OK(publish(names[0], 11, PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
    OK(publish(names[1], 12, PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
    seconds = 1;
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    PMIX_LOAD_KEY(data.key, "never");
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Lookup(&data, 1, info, 2));
  }
  fence(0);
}

/* Exactly one rank receives the data. */
static void first_read(void) {
  char key[MAX_KEY];
  int number = 0;
  pmix_rank_t publisher = 0;
  if (me.rank == 0) {
    OK(publish("once", 5, PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ));
  }
  fence(0);
  const pmix_status_t rc = lookup("once", &number, &publisher);
  TRUE_(rc == PMIX_SUCCESS || rc == PMIX_ERR_NOT_FOUND);
  OK(publish(key_of("got it", me.rank, key), rc == PMIX_SUCCESS ? 1 : 0,
             PMIX_RANGE_SESSION, PMIX_PERSIST_APP));
  fence(0);
  int readers = 0;
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    OK(lookup(key_of("got it", rank, key), &number, &publisher));
    readers += number;
  }
  EXPECT(1, readers);
  fence(0);
}

static void unpublishing(void) {
  char key[MAX_KEY];
  int number = 0;
  pmix_rank_t publisher = 0;
  char *keys[] = {key, NULL};
  /* The data belongs to another process, so it stays. */
  key_of("name", (me.rank + 1) % job_size, key);
  OK(PMIx_Unpublish(keys, NULL, 0));
  fence(0);
  OK(lookup(key, &number, &publisher));
  fence(0);
  key_of("name", me.rank, key);
  OK(PMIx_Unpublish(keys, NULL, 0));
  fence(0);
  /* The data that was published on the other range stays. */
  key_of("name", (me.rank + 1) % job_size, key);
  OK(lookup(key, &number, &publisher));
  EXPECT(1000, number);
  OK(PMIx_Unpublish(NULL, NULL, 0));
  fence(0);
  key_of("got it", (me.rank + 1) % job_size, key);
  EXPECT(PMIX_ERR_NOT_FOUND, lookup(key, &number, &publisher));
}

static void not_blocking(void) {
  char key[MAX_KEY];
  char *keys[] = {key, NULL};
  found_t found = {WAITER_INIT, 0, 0};
  waiter_t done = WAITER_INIT;
  pmix_info_t info;
  int number = 21 + (int)me.rank;
  PMIX_INFO_LOAD(&info, key_of("nb", me.rank, key), &number, PMIX_INT);
  OK(PMIx_Publish_nb(&info, 1, on_op, &done));
  OK(wait_for(&done, 1));
  OK(PMIx_Lookup_nb(keys, NULL, 0, on_found, &found));
  OK(wait_for(&found.waiter, 1));
  EXPECT(1, found.count);
  EXPECT(number, found.number);
  waiter_t gone = WAITER_INIT;
  OK(PMIx_Unpublish_nb(keys, NULL, 0, on_op, &gone));
  OK(wait_for(&gone, 1));
  found_t none = {WAITER_INIT, 0, 0};
  OK(PMIx_Lookup_nb(keys, NULL, 0, on_found, &none));
  EXPECT(PMIX_ERR_NOT_FOUND, wait_for(&none.waiter, 1));
}

int main(int argc, char **argv) {
  begin(argc, argv);
  everybodys();
  ranges();
  waiting();
  first_read();
  unpublishing();
  not_blocking();
  return end("names");
}
