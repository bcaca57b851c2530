// Operations on one element of any data type, driven by the type table. An
// element is what an array of that type holds; see ValueElement for the
// element inside a pmix_value_t. All memory is malloc memory.
#ifndef CANOPY_COMMON_VALUES_ELEMENT_OPS_H_
#define CANOPY_COMMON_VALUES_ELEMENT_OPS_H_

#include <cstddef>
#include <string_view>

#include "common/values/type_table.h"

namespace canopy {

// How many values and data arrays together may be nested in one another.
inline constexpr int kMaxNesting = 64;

// Makes `element` (any memory of type.size bytes) empty.
void ConstructElement(const TypeInfo& type, void* element);

// Frees what `element` owns and makes it all zeros. What a PMIX_INFO marked
// persistent holds belongs to someone else and stays.
void DestructElement(const TypeInfo& type, void* element);

// Deep copy of `from` into `to`, which may be uninitialised. Returns
// PMIX_SUCCESS, or an error with `to` left empty: kErrNomem,
// kErrNotSupported (a topology or cpuset without its library) or kErrBadParam
// (nested too deeply, or a type inside that is unknown). A copied PMIX_INFO
// owns its value, so its persistent flag is dropped.
int CopyElement(const TypeInfo& type, void* to, const void* from,
                int depth = 0);

// Order of two elements, member by member in wire order.
pmix_value_cmp_t CompareElements(const TypeInfo& type, const void* a,
                                 const void* b, int depth = 0);

// Bytes that `element` owns outside itself.
size_t OwnedBytes(const TypeInfo& type, const void* element, int depth = 0);

// `count` empty elements, or null without memory. Free with FreeElements.
void* NewElements(const TypeInfo& type, size_t count);
void FreeElements(const TypeInfo& type, void* elements, size_t count);

// How many bytes at the front of `in` are a PMIX_REGEX, its end included; 0
// when they are none.
size_t MeasureRegex(std::string_view in);

// The same for a regex that is known to be complete.
size_t RegexLength(const char* regex);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_ELEMENT_OPS_H_
