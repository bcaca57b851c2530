// Operations on one element of any data type, driven by the type table. An
// element is one entry of an array of that type; see ValueElement for the
// element inside a pmix_value_t. All memory is malloc memory.
#ifndef CANOPY_COMMON_VALUES_ELEMENT_OPS_H_
#define CANOPY_COMMON_VALUES_ELEMENT_OPS_H_

#include <cstddef>
#include <string_view>

#include "common/values/type_table.h"

namespace canopy {

// Values and data arrays may be nested in one another at most this deep.
inline constexpr int kMaxNesting = 64;

// Makes `element`, which is uninitialised memory of type.size bytes, empty.
void ConstructElement(const TypeInfo& type, void* element);

// Frees the memory that `element` owns, and sets `element` to zeros. The
// content of a PMIX_INFO that is marked persistent belongs to another owner and
// is not freed.
void DestructElement(const TypeInfo& type, void* element);

// Makes in `to`, which may be uninitialised, a deep copy of `from`. Returns
// PMIX_SUCCESS, or an error with `to` left empty: kErrNomem, kErrNotSupported
// (a topology or cpuset without its library) or kErrBadParam (nested too
// deeply, or a type inside that is unknown). A copied PMIX_INFO owns its value,
// so its persistent flag is dropped.
int CopyElement(const TypeInfo& type, void* to, const void* from,
                int depth = 0);

// Compares two elements, member by member in wire order.
pmix_value_cmp_t CompareElements(const TypeInfo& type, const void* a,
                                 const void* b, int depth = 0);

// Returns the number of bytes that `element` owns outside itself.
size_t OwnedBytes(const TypeInfo& type, const void* element, int depth = 0);

// Returns `count` empty elements, or null if memory is exhausted. The caller
// frees them with FreeElements.
void* NewElements(const TypeInfo& type, size_t count);
void FreeElements(const TypeInfo& type, void* elements, size_t count);

// Returns the number of bytes that a PMIX_REGEX at the front of `in` takes, its
// terminator included, or 0 if `in` does not begin with one.
size_t MeasureRegex(std::string_view in);

// Like MeasureRegex, for a regex that is known to be complete.
size_t RegexLength(const char* regex);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_ELEMENT_OPS_H_
