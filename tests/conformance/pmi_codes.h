// Shared by programs that check the codes of PMI-1 and PMI-2.
#ifndef CANOPY_TESTS_CONFORMANCE_PMI_CODES_H_
#define CANOPY_TESTS_CONFORMANCE_PMI_CODES_H_

#include "check.h"

static inline void Need(int want, int got, const char *what) {
  CHECK(got == want, "%s gives %d, not %d", what, got, want);
}

// `call` must return the code `want`.
#define CODE(want, call) Need(want, call, #call)

#endif  // CANOPY_TESTS_CONFORMANCE_PMI_CODES_H_
