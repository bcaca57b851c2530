#include "server/credential/process_credential.h"

#include <gtest/gtest.h>

namespace canopy::credential {
namespace {

constexpr int64_t kNow = 1'800'000'000;

security::ClusterKey Key(char digit) {
  return *security::ClusterKey::FromHex(std::string(64, digit));
}

class ProcessCredentialTest : public testing::Test {
 protected:
  const CredentialKey key_{Key('a'), "overlay"};
  const Holder holder_{{"job-1", 3}, 1000, 100, 7, kNow};
};

TEST_F(ProcessCredentialTest, CheckReturnsTheHolder) {
  const std::string credential = key_.Issue(holder_);
  EXPECT_LE(credential.size(), kMaxCredentialBytes);
  EXPECT_EQ(key_.Check(credential, kNow), holder_);
  EXPECT_EQ(CredentialKey(Key('a'), "overlay").Check(credential, kNow),
            holder_);
}

TEST_F(ProcessCredentialTest, ACredentialForTheLongestNamespaceFits) {
  Holder holder = holder_;
  holder.proc = {std::string(kMaxNspaceLen, 'n'), kRankWildcard - 5};
  holder.uid = holder.gid = holder.node = UINT32_MAX;
  const std::string credential = key_.Issue(holder);
  EXPECT_LE(credential.size(), kMaxCredentialBytes);
  EXPECT_EQ(key_.Check(credential, kNow), holder);
}

TEST_F(ProcessCredentialTest, AnAlteredCredentialIsNotValid) {
  const std::string credential = key_.Issue(holder_);
  for (size_t i = 0; i < credential.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string altered = credential;
      altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
      EXPECT_FALSE(key_.Check(altered, kNow)) << i;
    }
    EXPECT_FALSE(key_.Check(credential.substr(0, i), kNow)) << i;
  }
  EXPECT_FALSE(key_.Check(credential + "x", kNow));
  EXPECT_FALSE(key_.Check(std::string(1 << 20, 'x'), kNow));
}

TEST_F(ProcessCredentialTest, OnlyItsOwnOverlayAcceptsACredential) {
  const std::string credential = key_.Issue(holder_);
  EXPECT_FALSE(CredentialKey(Key('b'), "overlay").Check(credential, kNow));
  EXPECT_FALSE(CredentialKey(Key('a'), "another").Check(credential, kNow));
  // A statement that the cluster key itself authenticates is no credential,
  // because the cluster key has other uses.
  const std::string statement =
      credential.substr(0, credential.size() - security::kDigestBytes);
  EXPECT_FALSE(key_.Check(statement + Key('a').Hmac(statement), kNow));
}

TEST_F(ProcessCredentialTest, ACredentialIsValidForItsLifetime) {
  const std::string credential = key_.Issue(holder_);
  EXPECT_TRUE(key_.Check(credential, kNow + kLifetimeS));
  EXPECT_FALSE(key_.Check(credential, kNow + kLifetimeS + kClockSkewS + 1));
  EXPECT_TRUE(key_.Check(credential, kNow - kClockSkewS));
  EXPECT_FALSE(key_.Check(credential, kNow - kClockSkewS - 1));
}

}  // namespace
}  // namespace canopy::credential
