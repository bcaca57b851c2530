#include "server/openpmix/message_parts.h"

#include <algorithm>
#include <string_view>

#include "common/status.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

bool SkipTexts(Decoder& in) {
  size_t n = 0;
  std::string_view text;
  if (!in.UnpackSize(&n)) return false;
  for (size_t i = 0; i < n; ++i) {
    if (!in.UnpackString(&text)) return false;
  }
  return true;
}

// Skips SIZE n and, unless it is 0, one call of n elements.
bool SkipCounted(Decoder& in, pmix_data_type_t type) {
  size_t n = 0;
  size_t count = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n == 0) return true;
  if (!in.UnpackCount(type, &count)) return false;
  if (count != n) return in.Fail(kErrUnpackFailure);
  return in.SkipElements(type, n);
}

bool SkipOne(Decoder& in, pmix_data_type_t type) {
  size_t count = 0;
  if (!in.UnpackCount(type, &count)) return false;
  if (count != 1) return in.Fail(kErrUnpackFailure);
  return in.SkipElements(type, 1);
}

bool SkipPart(Decoder& in, const PeerTraits& peer, Part part) {
  switch (part) {
    case Part::kNone:
      return true;
    case Part::kSize:
      return SkipOne(in, PMIX_SIZE);
    case Part::kStatus:
      return SkipOne(in, PMIX_STATUS);
    case Part::kText:
      return SkipOne(in, PMIX_STRING);
    case Part::kTexts:
      return SkipTexts(in);
    case Part::kProcs:
      return SkipCounted(in, PMIX_PROC);
    case Part::kInfos:
      return SkipCounted(in, PMIX_INFO);
    case Part::kInfo:
      return SkipOne(in, PMIX_INFO);
    case Part::kBytes:
      return SkipOne(in, PMIX_BYTE_OBJECT);
    case Part::kDestructProcs:
      return !peer.group_destruct_has_procs || SkipCounted(in, PMIX_PROC);
  }
  return false;
}

}  // namespace

bool SkipParts(Decoder& in, const PeerTraits& peer, const Parts& parts) {
  return std::ranges::all_of(
      parts, [&](Part part) { return SkipPart(in, peer, part); });
}

}  // namespace canopy::openpmix
