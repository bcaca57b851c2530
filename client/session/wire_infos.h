// Info arrays as they travel in frames: SIZE n, then n INFOs of common/codec.
#ifndef CANOPY_CLIENT_SESSION_WIRE_INFOS_H_
#define CANOPY_CLIENT_SESSION_WIRE_INFOS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Returns a PMIx status: an info may be of a kind that cannot travel.
int EncodeInfos(const pmix_info_t* infos, size_t count, std::string* out);

// Appends to *infos. False when `bytes` are not what EncodeInfos writes. No
// bytes at all are no infos.
bool DecodeInfos(std::string_view bytes, InfoList* infos);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_WIRE_INFOS_H_
