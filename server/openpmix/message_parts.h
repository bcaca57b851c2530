// The parts of messages whose content is not needed: they are parsed for
// validity and skipped.
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
  kDestructProcs,  // PROCs, if the peer's version has them
};

// In their order; unused ones are kNone.
using Parts = std::array<Part, 5>;

// Reads over the parts of a message of that peer. False when one of them is
// malformed; the decoder has failed then.
bool SkipParts(Decoder& in, const PeerTraits& peer, const Parts& parts);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_MESSAGE_PARTS_H_
