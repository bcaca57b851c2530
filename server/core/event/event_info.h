// The infos of events that agents raise or inspect.
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

// Returns true if the infos (codec form: SIZE n, then n INFO) contain the flag
// `key` with the value true or with a value that is not a boolean.
bool HasFlag(const Bytes& info, std::string_view key);

// Writes the head of an INFO; the value follows. `type` is a pmix_data_type_t.
void PutInfo(std::string_view key, uint16_t type, Encoder* out);
// Writes a whole INFO with the value true.
void PutFlag(std::string_view key, Encoder* out);

// Returns the infos of an event about a process, in codec form: the process
// and, if `exit_code` is not null, its exit code. With `non_default`, only
// handlers that registered for the code get the event.
Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default = false);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENT_INFO_H_
