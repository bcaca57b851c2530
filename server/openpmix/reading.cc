#include "server/openpmix/reading.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/codec/infos.h"
#include "common/status.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

// The limit for the number of names in one list. It is needed because a name
// takes much more room in memory than in the message.
constexpr size_t kMaxProcs = 1 << 20;
constexpr uint64_t kMaxTimeoutSeconds = UINT32_MAX / 1000;

}  // namespace

bool ReadProcs(Decoder& in, std::vector<ProcId>* procs) {
  size_t n = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n > kMaxProcs) return in.Fail(kErrOutOfResource);
  if (!in.UnpackProcs(n, procs)) return false;
  for (const ProcId& proc : *procs) {
    if (proc.nspace.size() > kMaxNspaceLen) return in.Fail(kErrUnpackFailure);
  }
  return true;
}

bool ReadText(Decoder& in, size_t limit, std::string* text) {
  std::string_view view;
  if (!in.UnpackString(&view)) return false;
  if (view.size() > limit) return in.Fail(kErrUnpackFailure);
  *text = view;
  return true;
}

bool ReadBytes(Decoder& in, std::string_view* bytes) {
  size_t count = 0;
  if (!in.UnpackCount(PMIX_BYTE_OBJECT, &count)) return false;
  return count == 1 ? in.GetBytes(bytes) : in.Fail(kErrUnpackFailure);
}

bool OurForm(Decoder& in, const InfoList& infos, Bytes* out) {
  std::string encoded;
  const int code = EncodeInfos(infos.data(), infos.size(), &encoded);
  if (code != kSuccess) return in.Fail(code);
  *out = Bytes(std::move(encoded));
  return true;
}

uint32_t TimeoutMs(const InfoList& infos) {
  const uint64_t seconds = infos.FindUint(PMIX_TIMEOUT).value_or(0);
  return static_cast<uint32_t>(std::min(seconds, kMaxTimeoutSeconds) * 1000);
}

bool FlagIn(const InfoList& infos, const char* key) {
  return infos.Has(key) && infos.FindBool(key).value_or(false);
}

}  // namespace canopy::openpmix
