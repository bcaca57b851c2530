#include "server/security/credentials.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "server/security/identity.h"

namespace canopy::security {
namespace {

ClusterKey Key(char digit) {
  return *ClusterKey::FromHex(std::string(64, digit));
}

X509* Parse(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* cert = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return cert;
}

// Returns true if a peer that trusts only `root` accepts `leaf` in the role
// `purpose`.
bool Believes(const std::string& root, const std::string& leaf, int purpose) {
  X509* root_cert = Parse(root);
  X509* leaf_cert = Parse(leaf);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root_cert);
  X509_STORE_CTX* ctx = X509_STORE_CTX_new();
  X509_STORE_CTX_init(ctx, store, leaf_cert, nullptr);
  X509_STORE_CTX_set_purpose(ctx, purpose);
  const bool ok = X509_verify_cert(ctx) == 1;
  X509_STORE_CTX_free(ctx);
  X509_STORE_free(store);
  X509_free(leaf_cert);
  X509_free(root_cert);
  return ok;
}

TEST(IdentityTest, IdentitiesOfOneKeyTrustEachOtherAsClientAndServer) {
  const auto a = DeriveIdentity(Key('1'));
  const auto b = DeriveIdentity(Key('1'));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->certificate_pem, b->certificate_pem);
  EXPECT_TRUE(
      Believes(a->root_pem, b->certificate_pem, X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(
      Believes(b->root_pem, a->certificate_pem, X509_PURPOSE_SSL_CLIENT));
}

TEST(IdentityTest, ASchedulersIdentityIsNotAcceptedAsAnAgents) {
  const auto agent = DeriveIdentity(Key('1'));
  const auto scheduler = DeriveSchedulerIdentity(Key('1'));
  ASSERT_TRUE(agent.ok() && scheduler.ok());
  EXPECT_TRUE(Believes(agent->root_pem, scheduler->certificate_pem,
                       X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(Believes(scheduler->root_pem, agent->certificate_pem,
                       X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(Believes(agent->root_pem, scheduler->certificate_pem,
                        X509_PURPOSE_SSL_CLIENT));
  X509* const cert = Parse(scheduler->certificate_pem);
  EXPECT_EQ(X509_check_host(cert, kSchedulerServerName, 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(cert, kDerivedServerName, 0, 0, nullptr), 0);
  X509_free(cert);
}

TEST(IdentityTest, AuthorityKeyIsTheSameInEveryAgent) {
  const auto a = DeriveIdentity(Key('1'));
  const auto b = DeriveIdentity(Key('1'));
  ASSERT_TRUE(a.ok() && b.ok());
  X509* first = Parse(a->root_pem);
  X509* second = Parse(b->root_pem);
  EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(first), X509_get0_pubkey(second)), 1);
  X509_free(first);
  X509_free(second);
}

TEST(IdentityTest, AnIdentityOfAnotherKeyIsNotAccepted) {
  const auto a = DeriveIdentity(Key('1'));
  const auto b = DeriveIdentity(Key('2'));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(
      Believes(a->root_pem, b->certificate_pem, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(Believes(a->root_pem, b->root_pem, X509_PURPOSE_SSL_SERVER));
}

TEST(CredentialsTest, PlaintextIsOnlyForLocalAddressesUnlessAllowed) {
  SecurityConfig config;
  config.mode = SecurityMode::kPlaintext;
  EXPECT_TRUE(MakeServerCredentials(config, "127.0.0.1:0").ok());
  EXPECT_TRUE(MakeServerCredentials(config, "unix:/tmp/x").ok());
  EXPECT_TRUE(MakeChannelCredentials(config, "[::1]:7").ok());
  EXPECT_EQ(MakeServerCredentials(config, "0.0.0.0:0").code(),
            kErrNoPermissions);
  EXPECT_EQ(MakeChannelCredentials(config, "10.0.0.1:7").code(),
            kErrNoPermissions);
  EXPECT_EQ(MakeChannelCredentials(config, "127.example.org:7").code(),
            kErrNoPermissions);
  config.plaintext_anywhere = true;
  EXPECT_TRUE(MakeServerCredentials(config, "0.0.0.0:0").ok());
}

TEST(CredentialsTest, DerivedModeRequiresAKey) {
  SecurityConfig config;
  EXPECT_EQ(MakeServerCredentials(config, "127.0.0.1:0").code(),
            kErrInvalidCred);
  config.key = Key('1');
  EXPECT_TRUE(MakeServerCredentials(config, "0.0.0.0:0").ok());
  EXPECT_TRUE(MakeChannelCredentials(config, "far:1").ok());
  EXPECT_EQ(ServerNameOverride(config), kDerivedServerName);
}

TEST(CredentialsTest, TheErrorNamesAMissingFile) {
  SecurityConfig config;
  config.mode = SecurityMode::kFiles;
  EXPECT_EQ(MakeServerCredentials(config, "x:1").code(), kErrBadParam);
  config.ca_path = testing::TempDir() + "/no_such_ca.pem";
  const auto result = MakeServerCredentials(config, "x:1");
  EXPECT_EQ(result.code(), kErrNotFound);
  EXPECT_NE(result.status().message().find(config.ca_path), std::string::npos);
}

}  // namespace
}  // namespace canopy::security
