#ifndef CANOPY_TESTS_ABI_MACROS_CHECK_H_
#define CANOPY_TESTS_ABI_MACROS_CHECK_H_

/* Uses every macro of the C headers, as C and as C++: macros_c_test.c and
 * macros_cc_test.cc include this file. */

#include "tests/abi/macro_data.h"
#include "tests/abi/macro_expect.h"
#include "tests/abi/macro_objects.h"
#include "tests/abi/macro_text.h"
#include "tests/abi/macro_values.h"

static int check_macros(void) {
  check_initialisers();
  check_families();
  check_names();
  check_arrays_of_text();
  check_environments();
  check_truth();
  check_values();
  check_infos();
  check_info_lists();
  check_published_data();
  check_requests();
  check_bytes();
  check_data_arrays();
  check_devices();
  check_records();
  return failures;
}

#endif /* CANOPY_TESTS_ABI_MACROS_CHECK_H_ */
