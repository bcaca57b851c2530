#include "server/openpmix/peer_traits.h"

#include <gtest/gtest.h>

namespace canopy::openpmix {
namespace {

PeerTraits Traits(const char* version, const char* codec) {
  return TraitsOf(version, codec, false).value();
}

TEST(PeerTraits, TheCodecDeterminesTheFormOfIntegersAndTypes) {
  EXPECT_EQ(Traits("3.2.3", "v3").form.integers, IntegerForm::kFixed);
  EXPECT_EQ(Traits("4.2.2rc2", "v3").form.integers, IntegerForm::kFixed);
  EXPECT_EQ(Traits("4.2.2rc2", "v41").form.integers, IntegerForm::kVarint);
  EXPECT_EQ(Traits("3.2.3", "v3").form.max_type, 46);
  EXPECT_EQ(Traits("4.0.0", "v4").form.max_type, 60);
  EXPECT_EQ(Traits("5.0.3", "v41").form.max_type, 69);
  EXPECT_EQ(Traits("6.0.0", "v51").form.max_type, 72);
  EXPECT_EQ(Traits("7.0.0a1", "v61").form.max_type, 75);
  EXPECT_TRUE(TraitsOf("4.2.2", "v41", true)->form.described);
  for (const char* unknown : {"", "v21", "v2", "v20", "v410", "hash"}) {
    EXPECT_FALSE(TraitsOf("4.2.2", unknown, false)) << unknown;
  }
}

TEST(PeerTraits, TheVersionDeterminesTheOtherTraits) {
  EXPECT_EQ(Traits("4.1.2", "v41").max_reply_bytes, size_t{16} << 20);
  EXPECT_EQ(Traits("4.2.0", "v41").max_reply_bytes, SIZE_MAX);
  EXPECT_EQ(Traits("6.0.0", "v41").max_reply_bytes, SIZE_MAX);
  EXPECT_EQ(Traits("6.1.0", "v61").max_reply_bytes, size_t{32} << 20);
  EXPECT_EQ(Traits("3.2.3", "v3").max_reply_bytes, SIZE_MAX);

  EXPECT_FALSE(Traits("4.0.0", "v4").iof_pull_has_handle);
  EXPECT_TRUE(Traits("4.1.0", "v41").iof_pull_has_handle);

  EXPECT_FALSE(Traits("4.2.3", "v41").group_destruct_has_procs);
  EXPECT_TRUE(Traits("4.2.4", "v41").group_destruct_has_procs);
  using GroupReply = PeerTraits::GroupReply;
  EXPECT_EQ(Traits("4.2.3", "v41").group_reply, GroupReply::kContextId);
  EXPECT_EQ(Traits("4.2.4", "v41").group_reply, GroupReply::kMembers);
  EXPECT_EQ(Traits("5.0.9", "v41").group_reply, GroupReply::kMembers);
  EXPECT_EQ(Traits("6.0.1", "v51").group_reply, GroupReply::kFlagged);
  EXPECT_EQ(Traits("6.1.0", "v61").group_reply, GroupReply::kWithShared);

  EXPECT_FALSE(Traits("4.1.2", "v41").asks_for_places);
  EXPECT_TRUE(Traits("4.2.2rc2", "v41").asks_for_places);

  EXPECT_TRUE(Traits("6.0.9", "v41").form.undef_array_has_size);
  EXPECT_FALSE(Traits("6.1.0", "v41").form.undef_array_has_size);
  EXPECT_FALSE(Traits("7.0.0a1", "v41").form.undef_array_has_size);
  EXPECT_TRUE(Traits("6.0.0", "v41").reads_statistics);
  EXPECT_FALSE(Traits("6.1.0", "v41").reads_statistics);
}

TEST(PeerTraits, UnusualVersionTextsAreAccepted) {
  EXPECT_FALSE(Traits("7", "v41").reads_statistics);
  EXPECT_FALSE(Traits("99999999999999999999.1", "v41").reads_statistics);
  EXPECT_TRUE(Traits("", "v41").reads_statistics);
  EXPECT_TRUE(Traits("x.y", "v41").reads_statistics);
}

}  // namespace
}  // namespace canopy::openpmix
