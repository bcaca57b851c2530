#include "server/security/peer_proof.h"

#include <gtest/gtest.h>

#include "server/security/identity.h"

namespace canopy::security {
namespace {

ClusterKey Key(char digit) {
  return *ClusterKey::FromHex(std::string(64, digit));
}

TEST(PeerProofTest, AProofDependsOnTheKeyAndTheCertificate) {
  const std::string one = DeriveIdentity(Key('1'))->certificate_pem;
  const std::string two = DeriveIdentity(Key('1'))->certificate_pem;
  const auto proof = CertificateProof(Key('1'), one);
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->size(), 64u);
  EXPECT_EQ(*CertificateProof(Key('1'), one), *proof);
  EXPECT_NE(*CertificateProof(Key('1'), two), *proof);
  EXPECT_NE(*CertificateProof(Key('2'), one), *proof);
}

TEST(PeerProofTest, AChainHasTheProofOfItsFirstCertificate) {
  const auto identity = DeriveIdentity(Key('1'));
  EXPECT_EQ(*CertificateProof(Key('1'), identity->certificate_pem),
            *CertificateProof(Key('1'),
                              identity->certificate_pem + identity->root_pem));
}

TEST(PeerProofTest, ATextThatIsNotACertificateIsAnError) {
  EXPECT_EQ(CertificateProof(Key('1'), "").code(), kErrBadParam);
  EXPECT_EQ(CertificateProof(Key('1'), "-----BEGIN CERTIFICATE-----").code(),
            kErrBadParam);
}

}  // namespace
}  // namespace canopy::security
