#ifndef CANOPY_TESTS_ABI_MACRO_EXPECT_H_
#define CANOPY_TESTS_ABI_MACRO_EXPECT_H_

/* Helpers that the checks of all macros share. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

static int failures;

#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) {                                           \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      ++failures;                                                 \
    }                                                             \
  } while (0)

static int all_zero(const void *object, size_t size) {
  const char *bytes = (const char *) object;
  size_t i;
  for (i = 0; i < size; ++i) {
    if (0 != bytes[i]) {
      return 0;
    }
  }
  return 1;
}

/* Checks the macros of a type: CONSTRUCT sets all bytes of an object to zero,
 * CREATE makes an array of such objects, and FREE releases the array. Used for
 * the types that have no other macros. */
#define CHECK_FAMILY(type, STEM)                                    \
  do {                                                              \
    type one;                                                       \
    type *many;                                                     \
    memset(&one, 0x5a, sizeof(one));                                \
    PMIX_##STEM##_CONSTRUCT(&one);                                  \
    EXPECT(all_zero(&one, sizeof(one)));                            \
    PMIX_##STEM##_DESTRUCT(&one);                                   \
    PMIX_##STEM##_CREATE(many, 3);                                  \
    EXPECT(NULL != many && all_zero(many, 3 * sizeof(type)));       \
    PMIX_##STEM##_FREE(many, 3);                                    \
    PMIX_##STEM##_CREATE(many, 0);                                  \
    EXPECT(NULL == many);                                           \
  } while (0)

/* Checks that RELEASE frees a single object. */
#define CHECK_RELEASE(type, STEM)                                   \
  do {                                                              \
    type *one;                                                      \
    PMIX_##STEM##_CREATE(one, 1);                                   \
    EXPECT(NULL != one);                                            \
    PMIX_##STEM##_RELEASE(one);                                     \
    EXPECT(NULL == one);                                            \
  } while (0)

#define CHECK_INIT(type, STEM)                                      \
  do {                                                              \
    static const type one = PMIX_##STEM##_STATIC_INIT;              \
    EXPECT(all_zero(&one, sizeof(one)));                            \
  } while (0)

#endif /* CANOPY_TESTS_ABI_MACRO_EXPECT_H_ */
