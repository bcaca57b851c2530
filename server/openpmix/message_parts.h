// Parts of messages whose content is not used: they are validated and skipped.
#ifndef CANOPY_SERVER_OPENPMIX_MESSAGE_PARTS_H_
#define CANOPY_SERVER_OPENPMIX_MESSAGE_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/codec/decoder.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

enum class Part : uint8_t {
  kNone,
  kSize,
  kStatus,
  kText,
  kTexts,  // SIZE n, then n calls of one STRING
  kProcs,
  kInfos,
  kInfo,  // exactly one
  kBytes,
  kDestructProcs,  // PROCs, if the client's version has them
};

// The parts of a message in their order; unused entries are kNone.
using Parts = std::array<Part, 5>;

// Skips the parts of a client's message. Returns false if a part is malformed;
// the decoder has then failed.
bool SkipParts(Decoder& in, const PeerTraits& peer, const Parts& parts);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_MESSAGE_PARTS_H_
