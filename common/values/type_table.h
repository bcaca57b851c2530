// The library's knowledge about every PMIx data type, as data: the C layout of
// one element, with the members in the order of the wire. Copying, freeing,
// comparing, printing, encoding and decoding all use this one table.
#ifndef CANOPY_COMMON_VALUES_TYPE_TABLE_H_
#define CANOPY_COMMON_VALUES_TYPE_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "pmix_types.h"

namespace canopy {

// The kind of a member of a PMIx structure: its C type, and whether it is owned
// and followed.
enum class Shape : uint8_t {
  kBool,
  kByte,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint16,
  kUint32,
  kUint64,
  kInt,
  kUint,
  kSize,
  kPid,
  kFloat,
  kDouble,
  kTimeval,
  kTime,
  kPointer,    // an address; never followed, never owned
  kString,     // char*; owned; may be null
  kName,       // char[extent]; always terminated
  kStrings,    // char**; owned; ends with a null pointer; may be null
  kBytes,      // pmix_byte_object_t; owned
  kRegex,      // pmix_byte_object_t; owned; its content marks its end
  kBuffer,     // pmix_data_buffer_t; owned
  kValue,      // pmix_value_t
  kDataArray,  // pmix_data_array_t
  kStruct,     // an element of type `element`
  kList,       // pointer to `element`s; count is at `extent`
  kCpuset,     // pmix_cpuset_t
  kTopology,   // pmix_topology_t
};

// The encoding of the count of a kList or kStrings.
enum class CountForm : uint8_t { kSize, kInt32, kInt };

struct Field {
  Shape shape;
  uint16_t offset = 0;
  // For a kList, the offset of its size_t count. For a kName, its capacity in
  // bytes.
  uint16_t extent = 0;
  // For a kStruct or kList, the type of the element or elements.
  pmix_data_type_t element = PMIX_UNDEF;
  CountForm count = CountForm::kSize;
  // False if the member exists in memory only.
  bool on_wire = true;
};

struct TypeInfo {
  const char* name;  // "PMIX_UINT32"; null where no such type exists
  uint16_t size;     // bytes of one element in an array
  // True if a pmix_value_t holds a pointer to the element instead of the
  // element.
  bool indirect;
  uint8_t num_fields;
  const Field* fields;
  // The smallest number of bytes that one element can take in any codec form.
  uint8_t min_wire_bytes;

  const Field* begin() const { return fields; }
  const Field* end() const { return fields + num_fields; }
};

// One more than the highest data type known.
inline constexpr pmix_data_type_t kNumTypes = 76;

// Returns the entry of `type`, or null if the library does not know the type.
// PMIX_UNDEF has an entry without fields and of size 0.
const TypeInfo* FindType(pmix_data_type_t type);

// Returns true if an element is plain memory: copying its bytes copies it, and
// nothing has to be freed.
bool IsFlat(const TypeInfo& type);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_TYPE_TABLE_H_
