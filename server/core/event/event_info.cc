#include "server/core/event/event_info.h"

#include "common/codec/decoder.h"
#include "common/codec/seek_info.h"

namespace canopy::core {

bool HasFlag(const Bytes& info, std::string_view key) {
  Decoder decoder(info.view());
  uint16_t type = 0;
  if (!SeekInfo(key, &decoder) || !decoder.GetUint16(&type)) return false;
  bool value = true;
  return type != PMIX_BOOL || (decoder.GetBool(&value) && value);
}

void PutInfo(std::string_view key, uint16_t type, Encoder* out) {
  out->PutString(key);
  out->PutUint32(0);
  out->PutUint16(type);
}

void PutFlag(std::string_view key, Encoder* out) {
  PutInfo(key, PMIX_BOOL, out);
  out->PutBool(true);
}

Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default) {
  Encoder out;
  out.PutSize(1u + (exit_code == nullptr ? 0 : 1) + (non_default ? 1 : 0));
  PutInfo("pmix.evproc", PMIX_PROC, &out);
  out.PutProc(proc);
  if (exit_code != nullptr) {
    PutInfo("pmix.exit.code", PMIX_INT, &out);
    out.PutInt(*exit_code);
  }
  if (non_default) PutFlag(kNonDefaultKey, &out);
  return Bytes(out.Take());
}

}  // namespace canopy::core
