// Finds one info among encoded ones without decoding the others.
#ifndef CANOPY_COMMON_CODEC_SEEK_INFO_H_
#define CANOPY_COMMON_CODEC_SEEK_INFO_H_

#include <string_view>

#include "common/codec/decoder.h"

namespace canopy {

// `in` must stand before infos (SIZE n, then n INFOs). If an info has this key,
// returns true, and `in` stands before the value of the first such info.
// Returns false if there is no such info or if the bytes before the info are
// malformed.
bool SeekInfo(std::string_view key, Decoder* in);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_SEEK_INFO_H_
