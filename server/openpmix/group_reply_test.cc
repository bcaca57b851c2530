#include "server/openpmix/group_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kContext = 70000;
const std::vector<ProcId> kMembers = {{"job", 0}, {"job", 2}};

std::string Results(bool context) {
  InfoList infos;
  infos.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(kMembers));
  if (context) infos.Add(PMIX_GROUP_CONTEXT_ID, Value::Size(kContext));
  infos.Add(PMIX_GROUP_ENDPT_DATA, Value::ByteObject("bytes"));
  InfoList mine;
  mine.Add("mine", Value::Uint32(5));
  infos.Add(PMIX_GROUP_INFO, Value::InfoArray(mine));
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
  return out;
}

PeerTraits Of(const char* version) { return *TraitsOf(version, "v41", false); }

std::string Packed(const PeerTraits& peer, bool context) {
  Encoder out(peer.form);
  EXPECT_TRUE(PackGroup(peer, Results(context), &out));
  return out.Take();
}

void ExpectMembers(Decoder& in) {
  size_t count = 0;
  std::vector<ProcId> members;
  ASSERT_TRUE(in.UnpackSize(&count));
  ASSERT_TRUE(in.UnpackProcs(count, &members));
  EXPECT_EQ(members, kMembers);
}

void ExpectContext(Decoder& in) {
  size_t context = 0;
  ASSERT_TRUE(in.UnpackSize(&context));
  EXPECT_EQ(context, kContext);
}

TEST(GroupReply, PeersBeforeVersion5GetOnlyTheContextId) {
  const std::string bytes = Packed(Of("4.2.2"), true);
  Decoder in(bytes, Of("4.2.2").form);
  ExpectContext(in);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(Packed(Of("4.2.2"), false), "");
}

TEST(GroupReply, PeersOfVersion5GetTheMembersBeforeTheContextId) {
  for (const bool context : {false, true}) {
    const std::string bytes = Packed(Of("5.0.3"), context);
    Decoder in(bytes, Of("5.0.3").form);
    ExpectMembers(in);
    if (context) ExpectContext(in);
    EXPECT_TRUE(in.done());
  }
}

TEST(GroupReply, PeersOfVersion6GetAFlagForTheContextId) {
  for (const bool context : {false, true}) {
    const std::string bytes = Packed(Of("6.0.1"), context);
    Decoder in(bytes, Of("6.0.1").form);
    ExpectMembers(in);
    uint8_t flag = 2;
    ASSERT_TRUE(in.UnpackByte(PMIX_BOOL, &flag));
    EXPECT_EQ(flag, context ? 1 : 0);
    if (context) ExpectContext(in);
    EXPECT_TRUE(in.done());
  }
}

TEST(GroupReply, PeersSinceVersion61GetTheSharedData) {
  const std::string bytes = Packed(Of("6.1.0"), true);
  Decoder in(bytes, Of("6.1.0").form);
  ExpectMembers(in);
  uint8_t flag = 0;
  ASSERT_TRUE(in.UnpackByte(PMIX_BOOL, &flag));
  ExpectContext(in);
  size_t count = 0;
  InfoList shared;
  ASSERT_TRUE(in.UnpackSize(&count));
  ASSERT_EQ(count, 1u);
  ASSERT_TRUE(in.UnpackInfos(1, &shared));
  EXPECT_NE(shared.Find(PMIX_GROUP_INFO), nullptr);
  EXPECT_TRUE(in.done());
}

TEST(GroupReply, MalformedResultsAreRejected) {
  Encoder out;
  EXPECT_FALSE(PackGroup(Of("6.1.0"), "\xff", &out));
}

}  // namespace
}  // namespace canopy::openpmix
