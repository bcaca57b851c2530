// The infos of events that agents raise and look into.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENT_INFO_H_
#define CANOPY_SERVER_CORE_EVENT_EVENT_INFO_H_

#include <cstdint>
#include <string_view>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/ids.h"

namespace canopy::core {

inline constexpr char kNonDefaultKey[] = "pmix.evnondef";
inline constexpr char kDoNotCacheKey[] = "pmix.evnocache";

// Whether the infos (codec form: SIZE n, then n INFO) have that flag, and it
// says yes. One without a value does.
bool HasFlag(const Bytes& info, std::string_view key);

// The head of an INFO, whose value follows; `type`: pmix_data_type_t.
void PutInfo(std::string_view key, uint16_t type, Encoder* out);
// A whole INFO: true.
void PutFlag(std::string_view key, Encoder* out);

// Codec form of an event's info: the affected process and, when there is one,
// its exit code.
// `non_default`: handlers without codes of their own are not to get it.
Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default = false);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_INFO_H_
