// Memory that crosses the C interface. Callers free with free() the memory that
// this library allocates, and this library frees the memory that callers have
// allocated. No function here throws.
#ifndef CANOPY_COMMON_VALUES_MEMORY_H_
#define CANOPY_COMMON_VALUES_MEMORY_H_

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace canopy {

// Returns `count` zeroed elements of `size` bytes, or null if memory is
// exhausted or the product does not fit. A count of 0 does not by itself give
// null.
inline void* AllocateZeroed(size_t count, size_t size) {
  return calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
}

// Returns a terminated copy of `text`, or null if memory is exhausted. The
// caller frees it with free().
inline char* DuplicateString(std::string_view text) {
  char* copy = static_cast<char*>(malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!text.empty()) memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// Returns the element, which is a T.
template <typename T>
const T& As(const void* element) {
  return *static_cast<const T*>(element);
}

// Returns the member of an element at `offset` bytes, which is a T.
template <typename T>
T& At(void* element, size_t offset) {
  return *reinterpret_cast<T*>(static_cast<char*>(element) + offset);
}
template <typename T>
const T& At(const void* element, size_t offset) {
  return As<T>(static_cast<const char*>(element) + offset);
}

// Copies as much of `text` as fits into a fixed name of `capacity` bytes
// (terminator included) and fills the rest with zeros, so that names compare
// and travel as plain memory.
inline void StoreName(char* name, size_t capacity, std::string_view text) {
  size_t length = text.size() < capacity ? text.size() : capacity - 1;
  if (length > 0) memcpy(name, text.data(), length);
  memset(name + length, 0, capacity - length);
}

// Returns the text of a fixed name of `capacity` bytes, which need not be
// terminated.
inline std::string_view LoadName(const char* name, size_t capacity) {
  return {name, strnlen(name, capacity - 1)};
}

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_MEMORY_H_
