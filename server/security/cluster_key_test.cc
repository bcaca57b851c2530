#include "server/security/cluster_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace canopy::security {
namespace {

std::string TempPath(const std::string& name) {
  return testing::TempDir() + "/" + name + std::to_string(getpid());
}

std::string Unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

TEST(ClusterKeyTest, GeneratedKeysDiffer) {
  const auto a = ClusterKey::Generate();
  const auto b = ClusterKey::Generate();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->ToHex(), b->ToHex());
  EXPECT_EQ(a->ToHex().size(), 64u);
}

TEST(ClusterKeyTest, HexRoundTripIgnoresSpaceAndCase) {
  const std::string hex(64, 'a');
  const auto key = ClusterKey::FromHex("  " + std::string(64, 'A') + "\n");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->ToHex(), hex);
}

TEST(ClusterKeyTest, TheErrorForMalformedHexDoesNotContainTheKey) {
  for (const std::string& bad :
       {std::string(), std::string(63, '0'), std::string(65, '0'),
        std::string(62, '0') + "zz"}) {
    const auto key = ClusterKey::FromHex(bad);
    ASSERT_FALSE(key.ok()) << bad;
    EXPECT_EQ(key.code(), kErrBadParam);
    EXPECT_EQ(key.status().message().find("00"), std::string::npos);
  }
}

// RFC 4231, test case 1 has a 20-byte key; a zero-padded key gives the same
// HMAC, because HMAC pads with zeros itself.
TEST(ClusterKeyTest, HmacMatchesRfc4231) {
  std::string hex;
  for (int i = 0; i < 20; ++i) hex += "0b";
  hex += std::string(24, '0');
  const auto key = ClusterKey::FromHex(hex);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->Hmac("Hi There"), Unhex("b0344c61d8db38535ca8afceaf0bf12b"
                                         "881dc200c9833da726e9376c2e32cff7"));
}

TEST(ClusterKeyTest, DerivedKeysDependOnlyOnTheKeyAndThePurpose) {
  const auto key = ClusterKey::FromHex(std::string(64, '1'));
  const auto other = ClusterKey::FromHex(std::string(64, '2'));
  ASSERT_TRUE(key.ok() && other.ok());
  EXPECT_EQ(key->Derive("a", 48), key->Derive("a", 48));
  EXPECT_EQ(key->Derive("a", 48).size(), 48u);
  EXPECT_EQ(key->Derive("a", 48).substr(0, 16), key->Derive("a", 16));
  EXPECT_NE(key->Derive("a", 48), key->Derive("b", 48));
  EXPECT_NE(key->Derive("a", 48), other->Derive("a", 48));
}

TEST(ClusterKeyTest, SaveCreatesAPrivateFileAndNeverOverwritesIt) {
  const std::string path = TempPath("key");
  const auto key = ClusterKey::Generate();
  ASSERT_TRUE(key->Save(path).ok());
  struct stat st;
  ASSERT_EQ(stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  const auto back = ClusterKey::Load(path);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->ToHex(), key->ToHex());
  EXPECT_EQ(ClusterKey::Generate()->Save(path).code(), kErrExists);
  EXPECT_EQ(ClusterKey::Load(path)->ToHex(), key->ToHex());
  unlink(path.c_str());
}

TEST(ClusterKeyTest, AFileThatOthersCanReadIsRejected) {
  const std::string path = TempPath("open_key");
  ASSERT_TRUE(ClusterKey::Generate()->Save(path).ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const auto key = ClusterKey::Load(path);
  ASSERT_FALSE(key.ok());
  EXPECT_EQ(key.code(), kErrNoPermissions);
  EXPECT_NE(key.status().message().find("chmod 600"), std::string::npos);
  unlink(path.c_str());
}

TEST(ClusterKeyTest, LoadFailsForAMissingFileAndForADirectory) {
  EXPECT_EQ(ClusterKey::Load(TempPath("none")).code(), kErrNotFound);
  EXPECT_FALSE(ClusterKey::Load(testing::TempDir()).ok());
}

TEST(ClusterKeyTest, EqualInConstantTimeReturnsTrueOnlyForEqualTexts) {
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abcd"));
  EXPECT_FALSE(EqualInConstantTime("", "a"));
}

}  // namespace
}  // namespace canopy::security
