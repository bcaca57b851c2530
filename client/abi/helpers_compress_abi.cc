// C entry points for the compression of bytes.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "client/abi/c_text.h"
#include "common/values/zlib_access.h"
#include "pmix.h"

namespace {

std::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Copies the result for the caller, with a NUL appended.
bool Give(const std::optional<std::string>& result, uint8_t** bytes,
          size_t* size) {
  if (!result) return false;
  *bytes = reinterpret_cast<uint8_t*>(canopy::client::CopyToC(*result));
  if (*bytes == nullptr) return false;
  *size = result->size();
  return true;
}

}  // namespace

extern "C" {

bool PMIx_Data_compress(const uint8_t* inbytes, size_t size, uint8_t** outbytes,
                        size_t* nbytes) {
  if (outbytes == nullptr || nbytes == nullptr) return false;
  *outbytes = nullptr;
  *nbytes = 0;
  return inbytes != nullptr &&
         Give(canopy::Compress(View(inbytes, size)), outbytes, nbytes);
}

bool PMIx_Data_decompress(const uint8_t* inbytes, size_t size,
                          uint8_t** outbytes, size_t* nbytes) {
  if (outbytes == nullptr || nbytes == nullptr) return false;
  *outbytes = nullptr;
  *nbytes = 0;
  return inbytes != nullptr &&
         Give(canopy::Decompress(View(inbytes, size)), outbytes, nbytes);
}

}  // extern "C"
