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

// Returns a PMIx status: an info may be of a kind that cannot travel.
int EncodeInfos(const pmix_info_t* infos, size_t count, std::string* out);

// Appends to *infos. False when `bytes` are not what EncodeInfos writes. No
// bytes at all are no infos.
bool DecodeInfos(std::string_view bytes, InfoList* infos);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_INFOS_H_
