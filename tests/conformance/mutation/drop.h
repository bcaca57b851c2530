// Leaves an attribute out of what a program passes to the PMIx library, and out
// of what the program receives. generate.py writes the functions that use this
// file; they are preloaded into the programs of tests/conformance.
//
// CANOPY_MUTATION_DROP names the attribute to be left out: FUNCTION:KEY, or
// *:KEY for every function. CANOPY_MUTATION_SEEN is a file to which each
// process appends a line "FUNCTION KEY" for each attribute that passes, and
// "dropped" once it has left one out. CANOPY_MUTATION_SECONDS is the longest
// alarm that a program can set. Nothing happens in processes of Canopy's own
// programs.
#ifndef CANOPY_TESTS_CONFORMANCE_MUTATION_DROP_H_
#define CANOPY_TESTS_CONFORMANCE_MUTATION_DROP_H_

#include <dlfcn.h>
#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxSeen = 4096, kMaxLine = 2 * PMIX_MAX_KEYLEN };

// A reserved key that no realm has.
#define NO_SUCH_KEY "pmix.canopy.dropped"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static char *g_seen[kMaxSeen];  // the lines that this process has written
static size_t g_num_seen;
static const char *g_drop;       // NULL if nothing is left out
static const char *g_seen_path;  // NULL if nothing is recorded

// Returns whether the process runs a program whose name begins with "canopy".
static inline bool IsCanopy(void) {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0) return true;
  path[size] = '\0';
  const char *slash = strrchr(path, '/');
  return strncmp(slash == NULL ? path : slash + 1, "canopy", 6) == 0;
}

__attribute__((constructor)) static void ReadEnvironment(void) {
  if (IsCanopy()) return;
  g_drop = getenv("CANOPY_MUTATION_DROP");
  g_seen_path = getenv("CANOPY_MUTATION_SEEN");
}

static inline void *Real(const char *function) {
  void *real = dlsym(RTLD_NEXT, function);
  if (real == NULL) {
    fprintf(stderr, "mutation: the library has no %s\n", function);
    abort();
  }
  return real;
}

// Shortens a program's watchdog. A mutated program may hang, and the run of all
// mutations would take too long if it waited as long as for an unchanged
// program.
unsigned alarm(unsigned seconds) {
  unsigned (*real)(unsigned) = (unsigned (*)(unsigned))Real("alarm");
  const char *bound = getenv("CANOPY_MUTATION_SECONDS");
  const unsigned most = bound == NULL ? seconds : (unsigned)atoi(bound);
  return real(seconds < most ? seconds : most);
}

// ------------------------------------------------------------- recording ---

static inline bool IsNew(const char *line) {
  for (size_t i = 0; i < g_num_seen; ++i) {
    if (strcmp(g_seen[i], line) == 0) return false;
  }
  if (g_num_seen == kMaxSeen) return false;
  g_seen[g_num_seen++] = strdup(line);
  return true;
}

static inline void Record(const char *line) {
  if (g_seen_path == NULL) return;
  pthread_mutex_lock(&g_lock);
  if (IsNew(line)) {
    const int fd = open(g_seen_path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) abort();
    close(fd);
  }
  pthread_mutex_unlock(&g_lock);
}

// Records that the attribute passes, and returns whether it is to be left out.
static inline bool Drops(const char *function, const char *key) {
  if (g_seen_path == NULL || key == NULL) return false;
  char line[kMaxLine];
  snprintf(line, sizeof(line), "%s %.*s\n", function, PMIX_MAX_KEYLEN, key);
  Record(line);
  if (g_drop == NULL) return false;
  const char *colon = strchr(g_drop, ':');
  const size_t size = (size_t)(colon - g_drop);
  const bool is_it =
      strcmp(colon + 1, key) == 0 &&
      (strncmp(g_drop, "*:", 2) == 0 ||
       (strlen(function) == size && strncmp(g_drop, function, size) == 0));
  if (is_it) Record("dropped\n");
  return is_it;
}

// ----------------------------------------------------- what programs pass ---

static inline void *Room(size_t count, size_t size) {
  void *room = calloc(count + 1, size);
  if (room == NULL) abort();
  return room;
}

static inline bool HasInfos(const pmix_value_t *value) {
  return value->type == PMIX_DATA_ARRAY && value->data.darray != NULL &&
         value->data.darray->type == PMIX_INFO;
}

// Returns a copy of the attributes without the one to be left out, at any
// depth. Copies are never freed, because a call that has not completed yet uses
// them.
static inline pmix_info_t *In(const char *function, const pmix_info_t *infos,
                              size_t *count) {
  if (infos == NULL || *count == 0) return (pmix_info_t *)infos;
  pmix_info_t *copy = Room(*count, sizeof(*copy));
  size_t kept = 0;
  for (size_t i = 0; i < *count; ++i) {
    if (Drops(function, infos[i].key)) continue;
    memcpy(&copy[kept], &infos[i], sizeof(*copy));
    pmix_value_t *value = &copy[kept++].value;
    if (!HasInfos(value)) continue;
    pmix_data_array_t *array = Room(1, sizeof(*array));
    *array = *value->data.darray;
    array->array = In(function, array->array, &array->size);
    value->data.darray = array;
  }
  if (kept == *count && g_drop == NULL) return (pmix_info_t *)infos;
  *count = kept;
  return copy;
}

static inline pmix_app_t *InApps(const char *function, const pmix_app_t *apps,
                                 size_t count) {
  if (apps == NULL) return NULL;
  pmix_app_t *copy = Room(count, sizeof(*copy));
  memcpy(copy, apps, count * sizeof(*copy));
  for (size_t i = 0; i < count; ++i) {
    copy[i].info = In(function, copy[i].info, &copy[i].ninfo);
  }
  return copy;
}

// Replaces the key to be left out of a query by NO_SUCH_KEY: the answer then
// lacks the data, like the answer of a host that does not know the key.
static inline char **InKeys(const char *function, char **keys) {
  size_t count = 0;
  while (keys != NULL && keys[count] != NULL) ++count;
  char **copy = Room(count, sizeof(*copy));
  for (size_t i = 0; i < count; ++i) {
    copy[i] = Drops(function, keys[i]) ? strdup(NO_SUCH_KEY) : keys[i];
  }
  return copy;
}

static inline pmix_query_t *InQueries(const char *function,
                                      const pmix_query_t *queries,
                                      size_t count) {
  if (queries == NULL) return NULL;
  pmix_query_t *copy = Room(count, sizeof(*copy));
  memcpy(copy, queries, count * sizeof(*copy));
  for (size_t i = 0; i < count; ++i) {
    if (copy[i].keys != NULL) copy[i].keys = InKeys(function, copy[i].keys);
    copy[i].qualifiers = In(function, copy[i].qualifiers, &copy[i].nqual);
  }
  return copy;
}

// ------------------------------------------------- what programs receive ---

static inline size_t Out(const char *function, pmix_info_t *infos,
                         size_t count);

static inline void OutValue(const char *function, pmix_value_t *value) {
  if (value == NULL || !HasInfos(value)) return;
  pmix_data_array_t *array = value->data.darray;
  array->size = Out(function, array->array, array->size);
}

// Moves the attribute to be left out behind the others, where its owner can
// free it, and returns the number of the others.
static inline size_t Out(const char *function, pmix_info_t *infos,
                         size_t count) {
  if (infos == NULL) return count;
  for (size_t i = 0; i < count;) {
    if (!Drops(function, infos[i].key)) {
      OutValue(function, &infos[i++].value);
      continue;
    }
    const pmix_info_t dropped = infos[i];
    memmove(&infos[i], &infos[i + 1], (count - i - 1) * sizeof(dropped));
    infos[--count] = dropped;
  }
  return count;
}

static inline void OutResults(const char *function, pmix_status_t status,
                              pmix_info_t **results, size_t *count) {
  if (results == NULL || count == NULL || *results == NULL) return;
  if (status != PMIX_SUCCESS && status != PMIX_ERR_PARTIAL_SUCCESS &&
      status != PMIX_ERR_NOT_SUPPORTED) {
    return;
  }
  *count = Out(function, *results, *count);
  if (*count == 0) *results = NULL;
}

// ------------------------------------------ calls with nothing left to do ---

typedef struct {
  pmix_info_cbfunc_t info;
  pmix_op_cbfunc_t operation;
  void *cbdata;
} Completion;

static inline void *Complete(void *completion) {
  const Completion *one = completion;
  if (one->info != NULL) {
    one->info(PMIX_SUCCESS, NULL, 0, one->cbdata, NULL, NULL);
  } else if (one->operation != NULL) {
    one->operation(PMIX_SUCCESS, one->cbdata);
  }
  free(completion);
  return NULL;
}

// Reports success, like a library that accepts an attribute and does nothing.
static inline pmix_status_t Pretend(pmix_info_cbfunc_t info,
                                    pmix_op_cbfunc_t operation, void *cbdata) {
  Completion *one = Room(1, sizeof(*one));
  *one = (Completion){info, operation, cbdata};
  pthread_t thread;
  if (pthread_create(&thread, NULL, Complete, one) != 0) abort();
  pthread_detach(thread);
  return PMIX_SUCCESS;
}

// -------------------------------------------------------------- callbacks ---

enum { kSlots = 64 };

// A callback of the program. The library gets another function in its place,
// which belongs to this slot.
typedef struct {
  void *callback;
  const char *function;
} Slot;

static inline int SlotOf(Slot slots[kSlots], void *callback,
                         const char *function) {
  pthread_mutex_lock(&g_lock);
  int slot = 0;
  while (slot < kSlots && slots[slot].callback != NULL &&
         (slots[slot].callback != callback ||
          strcmp(slots[slot].function, function) != 0)) {
    ++slot;
  }
  if (slot == kSlots) abort();
  slots[slot] = (Slot){callback, function};
  pthread_mutex_unlock(&g_lock);
  return slot;
}

#endif  // CANOPY_TESTS_CONFORMANCE_MUTATION_DROP_H_
