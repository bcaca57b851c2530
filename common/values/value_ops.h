// Operations on pmix_value_t, pmix_info_t and pmix_data_array_t as the C
// interface defines them. Statuses are PMIX_* codes. Memory is malloc memory.
#ifndef CANOPY_COMMON_VALUES_VALUE_OPS_H_
#define CANOPY_COMMON_VALUES_VALUE_OPS_H_

#include <cstddef>
#include <string_view>

#include "common/values/element_ops.h"

namespace canopy {

// Returns the element that `value` holds: the union itself, or the element that
// the union points to. Returns null if the type is held by a pointer and the
// pointer is null.
const void* ValueElement(const TypeInfo& type, const pmix_value_t& value);

// Prepares `value`, whose previous content is ignored, to hold a `type`.
// Returns the address of its zeroed element, which is allocated if the type is
// held by a pointer. If memory is exhausted, returns null and makes the value
// PMIX_UNDEF.
void* EmplaceValue(pmix_value_t* value, pmix_data_type_t id,
                   const TypeInfo& type);

// Frees the memory that `value` owns, and empties `value`. The content of an
// unknown type is not freed.
void DestructValue(pmix_value_t* value);

// Makes a deep copy in `to`, which may be uninitialised; see CopyElement.
int CopyValue(pmix_value_t* to, const pmix_value_t& from, int depth = 0);

// Copies `data` into `value`, which may be uninitialised. For PMIX_STRING and
// PMIX_REGEX, `data` points to the characters; for all other types it points to
// an element. Null data gives true for PMIX_BOOL and an empty value otherwise.
// Returns kErrUnknownDataType for a type that values cannot hold, and
// kErrNomem.
int LoadValue(pmix_value_t* value, const void* data, pmix_data_type_t type);

// Copies the element out of `value`. Simple types are written to *data, which
// must not be null (kErrBadParam, as in every release of OpenPMIx). For
// PMIX_POINTER, *data becomes the pointer itself. Strings, byte objects,
// compressed data and PMIX_REGEX give their bytes and all other types a new
// element, in memory that the caller frees. *size is the number of bytes. Other
// errors are kErrUnknownDataType, kErrNotFound for a value without an element,
// and kErrNomem.
int UnloadValue(const pmix_value_t& value, void** data, size_t* size);

// Compares two values. Values of different types do not compare.
pmix_value_cmp_t CompareValues(const pmix_value_t& a, const pmix_value_t& b,
                               int depth = 0);

// Returns the bytes of the value and of everything that it owns.
size_t ValueBytes(const pmix_value_t& value);

// Reads a value as a flag. An empty value or a null string is true; a string
// such as "yes" or "0" is read as text; other types are PMIX_NON_BOOL.
pmix_boolean_t ValueTruth(const pmix_value_t& value);

// Makes `info`, whose previous content is ignored, hold `key` and a copy of
// `data`; see LoadValue. Returns kErrBadParam if the key is null or too long,
// and the errors of LoadValue.
int LoadInfo(pmix_info_t* info, const char* key, const void* data,
             pmix_data_type_t type);

// Makes a deep copy of one info with its directives, except persistence.
int CopyInfo(pmix_info_t* to, const pmix_info_t& from);

// Frees the memory that `info` owns, except the value of a persistent info.
void DestructInfo(pmix_info_t* info);

// Returns `count` infos, the last of which is marked as the array's end, or
// null if count is 0 or memory is exhausted.
pmix_info_t* NewInfos(size_t count);
void FreeInfos(pmix_info_t* infos, size_t count);

// Makes `array`, whose previous content is ignored, hold `count` empty
// elements. Returns kErrNomem if memory is exhausted and, unless `count` is 0,
// kErrUnknownDataType for a type without elements. After an error the array is
// empty.
int ConstructDataArray(pmix_data_array_t* array, size_t count,
                       pmix_data_type_t type);
void DestructDataArray(pmix_data_array_t* array);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_VALUE_OPS_H_
