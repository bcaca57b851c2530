// What messages consist of whose content nobody here needs: they are read to
// see that they are well-formed, and left.
#ifndef CANOPY_SERVER_STOCK_MESSAGE_PARTS_H_
#define CANOPY_SERVER_STOCK_MESSAGE_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/codec/decoder.h"
#include "server/stock/peer_traits.h"

namespace canopy::stock {

enum class Part : uint8_t {
  kNone,
  kUint32,
  kSize,
  kStatus,
  kText,
  kTexts,  // SIZE n, then n calls of one STRING
  kProcs,
  kInfos,
  kInfo,  // exactly one
  kBytes,
  kApps,
  kAllocDirective,
  kChannels,
  kBlockDirective,
  kUnits,
  kHandle,         // SIZE, if the peer's version has it
  kDestructProcs,  // PROCs, if the peer's version has them
};

// In their order; unused ones are kNone.
using Parts = std::array<Part, 5>;

// Reads over the parts of a message of that peer. False when one of them is
// malformed; the decoder has failed then.
bool SkipParts(Decoder& in, const PeerTraits& peer, const Parts& parts);

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_MESSAGE_PARTS_H_
