// Converts encoded values from one form into another, for endpoints that serve
// peers of several kinds.
#ifndef CANOPY_COMMON_CODEC_TRANSCODE_H_
#define CANOPY_COMMON_CODEC_TRANSCODE_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/codec/form.h"
#include "common/status.h"

namespace canopy {

// Returns the same VALUE in the form `to`. Fails as DecodeValue and Encoder do.
Result<std::string> TranscodeValue(std::string_view encoded,
                                   const CodecForm& from, const CodecForm& to);

// Returns a PMIX_COMPRESSED_STRING as a VALUE of type PMIX_STRING, because some
// peers send long strings compressed, and others cannot read those. Returns no
// value if `encoded` is not a PMIX_COMPRESSED_STRING or cannot be inflated; the
// caller then forwards it unchanged.
std::optional<std::string> InflateString(std::string_view encoded,
                                         const CodecForm& form = {});

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_TRANSCODE_H_
