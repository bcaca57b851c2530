// One message of a peer while it is read, and what the readers of all commands
// share.
#ifndef CANOPY_SERVER_OPENPMIX_READING_H_
#define CANOPY_SERVER_OPENPMIX_READING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/codec/decoder.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "server/core/step/client_id.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Of a text that is no name and no key.
inline constexpr size_t kMaxText = 64 << 10;

// The requester outlives it. A reader of a command takes from `in` what the
// command consists of; what is malformed or too much is a failure of `in`, and
// what the reader returns then is not used.
struct Reading {
  const Requester& requester;
  uint32_t tag;
  Decoder in;
};

// Each returns whether `in` is still ok.

// SIZE n and n PROC.
bool ReadProcs(Decoder& in, std::vector<ProcId>* procs);
// A STRING of at most `limit` bytes.
bool ReadText(Decoder& in, size_t limit, std::string* text);
// One BYTE_OBJECT; the view is into the message.
bool ReadBytes(Decoder& in, std::string_view* bytes);
// The infos in our form, for the core.
bool OurForm(Decoder& in, const InfoList& infos, Bytes* out);

// PMIX_TIMEOUT; 0: none.
uint32_t TimeoutMs(const InfoList& infos);
// Whether the key is there and true.
bool FlagIn(const InfoList& infos, const char* key);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_READING_H_
