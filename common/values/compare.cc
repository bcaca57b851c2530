#include <cstring>

#include "common/values/element_ops.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

template <typename T>
pmix_value_cmp_t Order(const T& a, const T& b) {
  if (a > b) return PMIX_VALUE1_GREATER;
  if (a < b) return PMIX_VALUE2_GREATER;
  return a == b ? PMIX_EQUAL : PMIX_VALUE_COMPARISON_NOT_AVAIL;  // NaN
}

template <typename T>
pmix_value_cmp_t OrderAt(const void* a, const void* b, size_t offset) {
  return Order(At<T>(a, offset), At<T>(b, offset));
}

pmix_value_cmp_t OrderStrings(const char* a, const char* b) {
  if (a == nullptr || b == nullptr) return Order(a != nullptr, b != nullptr);
  return Order(strcmp(a, b), 0);
}

pmix_value_cmp_t OrderBytes(const char* a, size_t a_size, const char* b,
                            size_t b_size) {
  if (a_size != b_size || a_size == 0) return Order(a_size, b_size);
  return Order(memcmp(a, b, a_size), 0);
}

pmix_value_cmp_t OrderLists(char* const* a, char* const* b) {
  if (a == nullptr || b == nullptr) return Order(a != nullptr, b != nullptr);
  for (; *a != nullptr && *b != nullptr; ++a, ++b) {
    const pmix_value_cmp_t order = OrderStrings(*a, *b);
    if (order != PMIX_EQUAL) return order;
  }
  return Order(*a != nullptr, *b != nullptr);
}

pmix_value_cmp_t OrderTimes(const timeval& a, const timeval& b) {
  return a.tv_sec != b.tv_sec ? Order(a.tv_sec, b.tv_sec)
                              : Order(a.tv_usec, b.tv_usec);
}

pmix_value_cmp_t OrderElements(const TypeInfo& type, const void* a,
                               size_t a_count, const void* b, size_t b_count,
                               int depth) {
  if (a_count != b_count || a == nullptr || b == nullptr) {
    return Order(a == nullptr ? 0 : a_count, b == nullptr ? 0 : b_count);
  }
  for (size_t i = 0; i < a_count; ++i) {
    const pmix_value_cmp_t order = CompareElements(
        type, &At<char>(a, i * type.size), &At<char>(b, i * type.size), depth);
    if (order != PMIX_EQUAL) return order;
  }
  return PMIX_EQUAL;
}

pmix_value_cmp_t OrderArrays(const pmix_data_array_t& a,
                             const pmix_data_array_t& b, int depth) {
  if (a.type != b.type) return PMIX_VALUE_TYPE_DIFFERENT;
  const TypeInfo* type = FindType(a.type);
  if (type == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  return OrderElements(*type, a.array, a.size, b.array, b.size, depth + 1);
}

pmix_value_cmp_t OrderCpusets(const pmix_cpuset_t& a, const pmix_cpuset_t& b) {
  if (a.bitmap == nullptr || b.bitmap == nullptr) {
    return Order(a.bitmap != nullptr, b.bitmap != nullptr);
  }
  const auto a_text = CpusetText(a);
  const auto b_text = CpusetText(b);
  if (!a_text || !b_text) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  return Order(*a_text, *b_text);
}

pmix_value_cmp_t CompareFields(const Field& field, const void* a, const void* b,
                               int depth) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kBool:
    case Shape::kByte:
      return OrderAt<uint8_t>(a, b, offset);
    case Shape::kInt8:
      return OrderAt<int8_t>(a, b, offset);
    case Shape::kInt16:
      return OrderAt<int16_t>(a, b, offset);
    case Shape::kUint16:
      return OrderAt<uint16_t>(a, b, offset);
    case Shape::kInt32:
    case Shape::kInt:
    case Shape::kPid:
      return OrderAt<int32_t>(a, b, offset);
    case Shape::kUint32:
    case Shape::kUint:
      return OrderAt<uint32_t>(a, b, offset);
    case Shape::kInt64:
    case Shape::kTime:
      return OrderAt<int64_t>(a, b, offset);
    case Shape::kUint64:
    case Shape::kSize:
    case Shape::kPointer:
      return OrderAt<uint64_t>(a, b, offset);
    case Shape::kFloat:
      return OrderAt<float>(a, b, offset);
    case Shape::kDouble:
      return OrderAt<double>(a, b, offset);
    case Shape::kTimeval:
      return OrderTimes(At<timeval>(a, offset), At<timeval>(b, offset));
    case Shape::kString:
      return OrderStrings(At<char*>(a, offset), At<char*>(b, offset));
    case Shape::kName:
      return Order(
          strncmp(&At<char>(a, offset), &At<char>(b, offset), field.extent), 0);
    case Shape::kStrings:
      return OrderLists(At<char**>(a, offset), At<char**>(b, offset));
    case Shape::kBytes:
    case Shape::kRegex: {
      const auto& a_bytes = At<pmix_byte_object_t>(a, offset);
      const auto& b_bytes = At<pmix_byte_object_t>(b, offset);
      return OrderBytes(a_bytes.bytes, a_bytes.size, b_bytes.bytes,
                        b_bytes.size);
    }
    case Shape::kBuffer: {
      const auto& a_buffer = At<pmix_data_buffer_t>(a, offset);
      const auto& b_buffer = At<pmix_data_buffer_t>(b, offset);
      return OrderBytes(a_buffer.base_ptr, a_buffer.bytes_used,
                        b_buffer.base_ptr, b_buffer.bytes_used);
    }
    case Shape::kValue:
      return CompareValues(At<pmix_value_t>(a, offset),
                           At<pmix_value_t>(b, offset), depth);
    case Shape::kDataArray:
      return OrderArrays(At<pmix_data_array_t>(a, offset),
                         At<pmix_data_array_t>(b, offset), depth);
    case Shape::kStruct:
      return CompareElements(*FindType(field.element), &At<char>(a, offset),
                             &At<char>(b, offset), depth);
    case Shape::kList:
      return OrderElements(*FindType(field.element), At<void*>(a, offset),
                           At<size_t>(a, field.extent), At<void*>(b, offset),
                           At<size_t>(b, field.extent), depth);
    case Shape::kCpuset:
      return OrderCpusets(At<pmix_cpuset_t>(a, offset),
                          At<pmix_cpuset_t>(b, offset));
    case Shape::kTopology:
      return OrderAt<void*>(a, b,
                            offset + offsetof(pmix_topology_t, topology)) ==
                     PMIX_EQUAL
                 ? PMIX_EQUAL
                 : PMIX_VALUE_COMPARISON_NOT_AVAIL;
  }
  return PMIX_VALUE_COMPARISON_NOT_AVAIL;
}

}  // namespace

pmix_value_cmp_t CompareElements(const TypeInfo& type, const void* a,
                                 const void* b, int depth) {
  if (depth > kMaxNesting) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  for (const Field& field : type) {
    const pmix_value_cmp_t order = CompareFields(field, a, b, depth);
    if (order != PMIX_EQUAL) return order;
  }
  return PMIX_EQUAL;
}

pmix_value_cmp_t CompareValues(const pmix_value_t& a, const pmix_value_t& b,
                               int depth) {
  if (a.type != b.type) return PMIX_VALUE_TYPE_DIFFERENT;
  const TypeInfo* type = FindType(a.type);
  if (type == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  const void* a_element = ValueElement(*type, a);
  const void* b_element = ValueElement(*type, b);
  if (a_element == nullptr || b_element == nullptr) {
    return Order(a_element != nullptr, b_element != nullptr);
  }
  return CompareElements(*type, a_element, b_element, depth + 1);
}

}  // namespace canopy
