// A programming model that a process declares at its start, and the event that
// reports it.
#ifndef CANOPY_TESTS_CONFORMANCE_MODELS_H_
#define CANOPY_TESTS_CONFORMANCE_MODELS_H_

#include "check.h"

// Returns every attribute of a model.
static inline Directives TestModel(void) {
  Directives model = {.count = 0};
  AddText(&model, PMIX_PROGRAMMING_MODEL, "test model");
  AddText(&model, PMIX_MODEL_LIBRARY_NAME, "test library");
  AddText(&model, PMIX_MODEL_LIBRARY_VERSION, "1.0");
  AddText(&model, PMIX_THREADING_MODEL, "pthread");
  AddU32(&model, PMIX_MODEL_NUM_THREADS, 2);
  AddU32(&model, PMIX_MODEL_NUM_CPUS, 3);
  AddText(&model, PMIX_MODEL_CPU_TYPE, "core");
  AddText(&model, PMIX_MODEL_AFFINITY_POLICY, "hwthread");
  return model;
}

static inline bool Equal(const pmix_value_t *a, const pmix_value_t *b) {
  if (a->type != b->type) return false;
  return a->type == PMIX_STRING ? strcmp(a->data.string, b->data.string) == 0
                                : a->data.uint32 == b->data.uint32;
}

// The event must have every attribute of the model.
static inline void ReportsTestModel(const pmix_info_t info[], size_t ninfo) {
  const Directives model = TestModel();
  for (size_t i = 0; i < model.count; ++i) {
    bool found = false;
    for (size_t j = 0; j < ninfo; ++j) {
      found |= PMIX_CHECK_KEY(&info[j], model.info[i].key) &&
               Equal(&info[j].value, &model.info[i].value);
    }
    CHECK(found, "a model without its %s", model.info[i].key);
  }
}

#endif  // CANOPY_TESTS_CONFORMANCE_MODELS_H_
