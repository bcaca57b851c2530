// One message of an OpenPMIx client while it is read, and functions that the
// readers of all commands share.
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

// The limit for a text other than a name or a key, in bytes.
inline constexpr size_t kMaxText = 64 << 10;

// A reader of a command consumes the parts of the command from `in`. If they
// are malformed or exceed a limit, `in` fails, and the reader's result is not
// used. The requester must outlive this object.
struct Reading {
  const Requester& requester;
  uint32_t tag;
  Decoder in;
  std::vector<IgnoredDirective> ignored = {};
};

// Each function below returns true if `in` has not failed.

// Reads SIZE n and n PROC.
bool ReadProcs(Decoder& in, std::vector<ProcId>* procs);
// Reads a STRING of at most `limit` bytes.
bool ReadText(Decoder& in, size_t limit, std::string* text);
// Reads one BYTE_OBJECT; the view points into the message.
bool ReadBytes(Decoder& in, std::string_view* bytes);
// Converts the infos to Canopy's form, for the core.
bool OurForm(Decoder& in, const InfoList& infos, Bytes* out);

// Returns PMIX_TIMEOUT in milliseconds; 0 if there is no timeout.
uint32_t TimeoutMs(const InfoList& infos);
// Returns true if the key is present and true.
bool FlagIn(const InfoList& infos, const char* key);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_READING_H_
