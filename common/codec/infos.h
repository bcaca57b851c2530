// Info arrays as they travel in frames and messages: SIZE n, then n INFOs.
#ifndef CANOPY_COMMON_CODEC_INFOS_H_
#define CANOPY_COMMON_CODEC_INFOS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_types.h"

namespace canopy {

// Encodes the infos into *out, whose content is replaced. Returns a PMIx
// status, which is an error if the value of an info cannot be encoded.
int EncodeInfos(const pmix_info_t* infos, size_t count, std::string* out);

// Appends the infos to *infos. Returns false if `bytes` are not in the form
// that EncodeInfos writes. Empty bytes stand for no infos.
bool DecodeInfos(std::string_view bytes, InfoList* infos);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_INFOS_H_
