// Carries out blocking calls by their non-blocking forms, if the variable
// CANOPY_NONBLOCKING is set: so every check of a blocking call also checks the
// non-blocking form. generate.py writes the functions that use this file.
#ifndef CANOPY_TESTS_CONFORMANCE_MUTATION_NONBLOCKING_H_
#define CANOPY_TESTS_CONFORMANCE_MUTATION_NONBLOCKING_H_

#include "drop.h"

static bool g_nonblocking;

__attribute__((constructor)) static void ReadForm(void) {
  g_nonblocking = !IsCanopy() && getenv("CANOPY_NONBLOCKING") != NULL;
}

// A call that has not called back yet, and the place for its results.
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;
  pmix_status_t status;
  pmix_info_t **infos;
  size_t *count;
  pmix_value_t **value;
  char *nspace;
  pmix_byte_object_t *bytes;
  pmix_pdata_t *data;
  size_t num_data;
  pmix_device_distance_t **distances;
} Waiting;

#define WAITING \
  { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER }

static inline void End(Waiting *waiting, pmix_status_t status) {
  pthread_mutex_lock(&waiting->lock);
  waiting->over = true;
  waiting->status = status;
  pthread_cond_signal(&waiting->changed);
  pthread_mutex_unlock(&waiting->lock);
}

// Returns the status that the blocking form returns. `begun` is the status of
// the non-blocking call.
static inline pmix_status_t Await(Waiting *waiting, pmix_status_t begun) {
  if (begun == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  if (begun != PMIX_SUCCESS) {
    if (waiting->infos != NULL) *waiting->infos = NULL;
    if (waiting->infos != NULL && waiting->count != NULL) *waiting->count = 0;
    return begun;
  }
  pthread_mutex_lock(&waiting->lock);
  while (!waiting->over) pthread_cond_wait(&waiting->changed, &waiting->lock);
  pthread_mutex_unlock(&waiting->lock);
  return waiting->status;
}

static inline void OnOp(pmix_status_t status, void *cbdata) {
  End(cbdata, status);
}

static inline void KeepInfos(Waiting *waiting, const pmix_info_t *infos,
                             size_t count) {
  if (waiting->infos == NULL || waiting->count == NULL) return;
  *waiting->count = count;
  *waiting->infos = NULL;
  if (count == 0) return;
  *waiting->infos = Room(count, sizeof(*infos));
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t *copy = &(*waiting->infos)[i];
    memcpy(copy->key, infos[i].key, sizeof(copy->key));
    copy->flags = infos[i].flags;
    PMIx_Value_xfer(&copy->value, &infos[i].value);
  }
}

static inline void OnInfos(pmix_status_t status, pmix_info_t *infos,
                           size_t count, void *cbdata,
                           pmix_release_cbfunc_t release, void *release_data) {
  KeepInfos(cbdata, infos, count);
  if (release != NULL) release(release_data);
  End(cbdata, status);
}

static inline void OnValidated(pmix_status_t status, pmix_info_t infos[],
                               size_t count, void *cbdata) {
  KeepInfos(cbdata, infos, count);
  End(cbdata, status);
}

// Returns whether only the blocking form can serve the call: its value goes to
// a place that the caller provides, or stays the library's.
static inline bool OnlyBlocking(const pmix_info_t *infos, size_t count) {
  for (size_t i = 0; infos != NULL && i < count; ++i) {
    if (strcmp(infos[i].key, PMIX_GET_STATIC_VALUES) == 0 ||
        strcmp(infos[i].key, PMIX_GET_POINTER_VALUES) == 0) {
      return true;
    }
  }
  return false;
}

static inline void OnValue(pmix_status_t status, pmix_value_t *value,
                           void *cbdata) {
  Waiting *waiting = cbdata;
  *waiting->value = NULL;
  if (status == PMIX_SUCCESS && value != NULL) {
    *waiting->value = Room(1, sizeof(*value));
    PMIx_Value_xfer(*waiting->value, value);
  }
  End(waiting, status);
}

static inline void OnSpawn(pmix_status_t status, char nspace[], void *cbdata) {
  Waiting *waiting = cbdata;
  if (status == PMIX_SUCCESS && waiting->nspace != NULL) {
    PMIX_LOAD_NSPACE(waiting->nspace, nspace);
  }
  End(waiting, status);
}

static inline void OnCredential(pmix_status_t status,
                                pmix_byte_object_t *credential,
                                pmix_info_t infos[], size_t count,
                                void *cbdata) {
  (void)infos, (void)count;
  Waiting *waiting = cbdata;
  if (status == PMIX_SUCCESS && credential != NULL) {
    waiting->bytes->size = credential->size;
    waiting->bytes->bytes = Room(credential->size, 1);
    memcpy(waiting->bytes->bytes, credential->bytes, credential->size);
  }
  End(waiting, status);
}

static inline void OnFound(pmix_status_t status, pmix_pdata_t data[],
                           size_t count, void *cbdata) {
  Waiting *waiting = cbdata;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < waiting->num_data; ++j) {
      pmix_pdata_t *to = &waiting->data[j];
      if (strncmp(data[i].key, to->key, PMIX_MAX_KEYLEN) != 0) continue;
      to->proc = data[i].proc;
      PMIx_Value_xfer(&to->value, &data[i].value);
    }
  }
  End(waiting, status);
}

static inline char **KeysOf(const pmix_pdata_t *data, size_t count) {
  char **keys = Room(count, sizeof(*keys));
  for (size_t i = 0; i < count; ++i) keys[i] = strdup(data[i].key);
  return keys;
}

static inline void OnDistances(pmix_status_t status,
                               pmix_device_distance_t *distances, size_t count,
                               void *cbdata, pmix_release_cbfunc_t release,
                               void *release_data) {
  Waiting *waiting = cbdata;
  *waiting->count = count;
  *waiting->distances = count == 0 ? NULL : Room(count, sizeof(*distances));
  for (size_t i = 0; i < count; ++i) {
    pmix_device_distance_t *copy = &(*waiting->distances)[i];
    *copy = distances[i];
    copy->uuid = strdup(distances[i].uuid);
    copy->osname = strdup(distances[i].osname);
  }
  if (release != NULL) release(release_data);
  End(waiting, status);
}

#endif  // CANOPY_TESTS_CONFORMANCE_MUTATION_NONBLOCKING_H_
