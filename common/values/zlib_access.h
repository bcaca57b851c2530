// Compression in the form that PMIx peers exchange: the length of the content
// as a 32-bit number of this machine, then a zlib stream. zlib is opened when
// first needed.
#ifndef CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_
#define CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy {

// Compressed content; nothing when that would not be smaller, when `content`
// is 4 GiB or more, or where zlib is absent.
std::optional<std::string> Compress(std::string_view content);

// The content again; nothing when `compressed` is malformed, when it would be
// larger than `limit` bytes, or where zlib is absent.
std::optional<std::string> Decompress(std::string_view compressed,
                                      size_t limit = size_t{1} << 30);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_
