#include "server/openpmix/credential_reply.h"

#include <gtest/gtest.h>

#include <string>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

PeerTraits Modern() { return *TraitsOf("4.2.2", "v41", false); }

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
  return out;
}

TEST(CredentialReply, TheCredentialPrecedesTheOtherResults) {
  const InfoList results = {{PMIX_CREDENTIAL, Value::ByteObject("cd")},
                            {"k", Value::Uint32(5)}};
  Encoder out(Modern().form);
  ASSERT_TRUE(PackCredential(Modern(), Encoded(results), &out));
  EXPECT_EQ(out.Take(), std::string("\x02\x02"
                                    "cd"
                                    "\x02\x01\x02\x04"
                                    "k\0\0\x0e\x05",
                                    14 - 1));
}

TEST(CredentialReply, WithoutACredentialThereIsNoAnswer) {
  for (const std::string& results :
       {Encoded({{"k", Value::Uint32(5)}}), std::string("\xff"),
        Encoded({{PMIX_CREDENTIAL, Value::Bool(true)}})}) {
    Encoder out(Modern().form);
    EXPECT_FALSE(PackCredential(Modern(), results, &out));
  }
}

}  // namespace
}  // namespace canopy::openpmix
