// Operations on pmix_value_t, pmix_info_t and pmix_data_array_t as the C
// interface defines them. Statuses are PMIX_* codes. Memory is malloc memory.
#ifndef CANOPY_COMMON_VALUES_VALUE_OPS_H_
#define CANOPY_COMMON_VALUES_VALUE_OPS_H_

#include <cstddef>
#include <string_view>

#include "common/values/element_ops.h"

namespace canopy {

// The element that `value` holds: the union itself, or what it points to.
// Null when the value is of a pointer-held type and holds none.
const void* ValueElement(const TypeInfo& type, const pmix_value_t& value);

// Prepares `value` (contents ignored) to hold a `type`: returns the place of
// its element, zeroed and allocated when the type is pointer-held. Null when
// there is no memory; then the value is PMIX_UNDEF.
void* EmplaceValue(pmix_value_t* value, pmix_data_type_t id,
                   const TypeInfo& type);

// Empties `value`, freeing what it owns. Unknown types are only forgotten.
void DestructValue(pmix_value_t* value);

// Deep copy into `to`, which may be uninitialised; see CopyElement.
int CopyValue(pmix_value_t* to, const pmix_value_t& from, int depth = 0);

// Copies `data` into `value`, which may be uninitialised. For PMIX_STRING and
// PMIX_REGEX `data` is the characters themselves, else it points to an
// element. Null data gives true for PMIX_BOOL and an empty value otherwise.
// Returns kErrUnknownDataType for a type that values cannot hold.
int LoadValue(pmix_value_t* value, const void* data, pmix_data_type_t type);

// Copies the element of `value` out. Simple types are written to *data, which
// is not to be null (kErrBadParam, as in every release of OpenPMIx);
// PMIX_STRING and PMIX_BYTE_OBJECT give their bytes, all other types a new
// element, in memory that the caller frees. *size is the number of bytes.
int UnloadValue(const pmix_value_t& value, void** data, size_t* size);

// Order of two values; values of different types do not compare.
pmix_value_cmp_t CompareValues(const pmix_value_t& a, const pmix_value_t& b,
                               int depth = 0);

// Bytes of the value together with all it owns.
size_t ValueBytes(const pmix_value_t& value);

// How a value reads as a flag: absent means true; strings like "yes", "0".
pmix_boolean_t ValueTruth(const pmix_value_t& value);

// Makes `info` (contents ignored) hold `key` and a copy of `data`; see
// LoadValue. kErrBadParam for a null or too long key.
int LoadInfo(pmix_info_t* info, const char* key, const void* data,
             pmix_data_type_t type);

// Deep copy of one info, directives included except persistence.
int CopyInfo(pmix_info_t* to, const pmix_info_t& from);

void DestructInfo(pmix_info_t* info);

// `count` infos, the last marked as the array's end; null when count is 0 or
// without memory.
pmix_info_t* NewInfos(size_t count);
void FreeInfos(pmix_info_t* infos, size_t count);

// Makes `array` (contents ignored) hold `count` empty elements. kErrNomem, or
// kErrUnknownDataType with count > 0; then the array is empty.
int ConstructDataArray(pmix_data_array_t* array, size_t count,
                       pmix_data_type_t type);
void DestructDataArray(pmix_data_array_t* array);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_VALUE_OPS_H_
