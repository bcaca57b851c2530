// Compression in the form that PMIx peers exchange: the length of the content
// as a 32-bit number in this machine's byte order, then a zlib stream. zlib is
// opened when it is first needed.
#ifndef CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_
#define CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy {

// Returns the compressed content. Returns no value if that would not be
// smaller, if `content` has 4 GiB or more, or if zlib is absent.
std::optional<std::string> Compress(std::string_view content);

// Returns the content. Returns no value if `compressed` is malformed, if the
// content would be larger than `limit` bytes, or if zlib is absent.
std::optional<std::string> Decompress(std::string_view compressed,
                                      size_t limit = size_t{1} << 30);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_ZLIB_ACCESS_H_
