// Encoded values from one form into another, for endpoints that serve peers of
// several kinds.
#ifndef CANOPY_COMMON_CODEC_TRANSCODE_H_
#define CANOPY_COMMON_CODEC_TRANSCODE_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/codec/form.h"
#include "common/status.h"

namespace canopy {

// The same VALUE, type first, in another form. Fails as DecodeValue and
// Encoder do.
Result<std::string> TranscodeValue(std::string_view encoded,
                                   const CodecForm& from, const CodecForm& to);

// Some peers send long strings compressed, and others cannot read those. The
// VALUE as a plain PMIX_STRING; nothing when `encoded` is not a
// PMIX_COMPRESSED_STRING, or one that cannot be inflated, which should then be
// passed on as it is.
std::optional<std::string> InflateString(std::string_view encoded,
                                         const CodecForm& form = {});

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_TRANSCODE_H_
