#include "server/openpmix/message_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/codec/hex.h"

namespace canopy::openpmix {
namespace {

using enum Part;

PeerTraits Peer(const char* version) {
  return TraitsOf(version, "v41", false).value();
}

// Returns true if the bytes, in the modern form, are exactly these parts.
bool AreParts(const char* hex, const Parts& parts,
              const char* version = "4.2.2") {
  const std::string bytes = Unhex(hex);
  const PeerTraits peer = Peer(version);
  Decoder in(bytes, peer.form);
  return SkipParts(in, peer, parts) && in.AtEnd();
}

TEST(MessageParts, AnEmptyListMatchesOnlyAnEmptyMessage) {
  EXPECT_TRUE(AreParts("", {}));
  EXPECT_FALSE(AreParts("", {kSize}));
}

TEST(MessageParts, APartOfOneElementMustHaveOneElement) {
  EXPECT_TRUE(AreParts("02 05 02 04 6b00", {kSize, kText}));
  // The part has two elements.
  EXPECT_FALSE(AreParts("04 05 05", {kSize}));
}

TEST(MessageParts, CountedElementsMustMatchTheirCount) {
  EXPECT_TRUE(AreParts("02 02 04 04 6100 01 04 6200 02", {kProcs}));
  EXPECT_TRUE(AreParts("02 00", {kProcs}));
  // The count differs from the number of elements.
  EXPECT_FALSE(AreParts("02 01 04 04 6100 01 04 6200 02", {kProcs}));
}

TEST(MessageParts, EachTextHasACountOfItsOwn) {
  EXPECT_TRUE(AreParts("02 02 02 04 6100 02 04 6200", {kTexts}));
  EXPECT_FALSE(AreParts("02 03 02 04 6100 02 04 6200", {kTexts}));
}

TEST(MessageParts, AGroupDestructHasParticipantsSinceVersion424) {
  EXPECT_TRUE(AreParts("02 00", {kDestructProcs}, "4.2.4"));
  EXPECT_TRUE(AreParts("", {kDestructProcs}, "4.2.2"));
}

}  // namespace
}  // namespace canopy::openpmix
