// One info among encoded ones, without decoding the others.
#ifndef CANOPY_COMMON_CODEC_SEEK_INFO_H_
#define CANOPY_COMMON_CODEC_SEEK_INFO_H_

#include <string_view>

#include "common/codec/decoder.h"

namespace canopy {

// `in` stands before infos (SIZE n, then n INFOs). True: it stands before the
// value of the first one with that key. False when there is none, or what comes
// before it is malformed.
bool SeekInfo(std::string_view key, Decoder* in);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_SEEK_INFO_H_
