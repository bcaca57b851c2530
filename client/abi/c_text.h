#ifndef CANOPY_CLIENT_ABI_C_TEXT_H_
#define CANOPY_CLIENT_ABI_C_TEXT_H_

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace canopy::client {

// Returns a terminated copy of `text`, which the caller of a C function frees
// with free(). Returns nullptr if memory is exhausted.
inline char* CopyToC(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_C_TEXT_H_
