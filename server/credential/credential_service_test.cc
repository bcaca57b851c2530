#include "server/credential/credential_service.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::credential {
namespace {

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
  return out;
}

InfoList Required(const char* key, Value value) {
  InfoList infos;
  infos.Add(key, std::move(value), PMIX_INFO_REQD);
  return infos;
}

class CredentialServiceTest : public testing::Test {
 protected:
  CredentialServiceTest() {
    options_.cluster_key = *security::ClusterKey::FromHex(std::string(64, 'a'));
    options_.overlay = "overlay";
    options_.self = 2;
    options_.now_s = [this] { return now_; };
  }

  CredentialService& service() {
    if (!service_) service_ = std::make_unique<CredentialService>(options_);
    return *service_;
  }

  // Returns the results, and stores the status in status_.
  InfoList Issue(const InfoList& infos = {}) {
    core::AskHost request;
    request.source = {"job", 5};
    request.uid = 1000;
    request.gid = 100;
    request.call = Bytes(Encoded(infos));
    Bytes results;
    status_ = service().Issue(request, &results).code();
    return Decoded(results);
  }
  std::string Credential() {
    const InfoList results = Issue();
    const pmix_info_t* info = results.Find(PMIX_CREDENTIAL);
    return info == nullptr ? ""
                           : std::string(BytesOf(info->value).value_or(""));
  }
  InfoList Validate(std::string_view credential, const InfoList& infos = {}) {
    core::AskHost request;
    request.source = {"other", 1};
    request.call = Bytes(wire::Encode(
        host_call::ValidateCredential{credential, Encoded(infos)}));
    Bytes results;
    status_ = service().Validate(request, &results).code();
    return Decoded(results);
  }

  static InfoList Decoded(const Bytes& bytes) {
    InfoList infos;
    EXPECT_TRUE(DecodeInfos(bytes.view(), &infos));
    return infos;
  }

  int64_t now_ = 1'800'000'000;
  CredentialOptions options_;
  std::unique_ptr<CredentialService> service_;
  int status_ = 0;
};

TEST_F(CredentialServiceTest, Sec05TheResultsDescribeTheHolder) {
  const InfoList holder = Validate(Credential());
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(holder.FindUint(PMIX_USERID), 1000u);
  EXPECT_EQ(holder.FindUint(PMIX_GRPID), 100u);
  EXPECT_EQ(holder.FindProc(PMIX_PROCID), (ProcId{"job", 5}));
  EXPECT_EQ(holder.FindString(PMIX_CRED_TYPE), kCredentialType);
}

// The caller's own claims do not affect the credential.
TEST_F(CredentialServiceTest, Sec06ACredentialHasTheUserThatTheAgentKnows) {
  const InfoList issued =
      Issue({{PMIX_USERID, Value::Uint32(0)}, {PMIX_TIMEOUT, Value::Int(3)}});
  ASSERT_EQ(status_, kSuccess);
  EXPECT_EQ(issued.FindString(PMIX_CRED_TYPE), kCredentialType);
  const InfoList holder =
      Validate(*BytesOf(issued.Find(PMIX_CREDENTIAL)->value));
  EXPECT_EQ(holder.FindUint(PMIX_USERID), 1000u);
}

TEST_F(CredentialServiceTest,
       Sec04UnknownTypesAndRequiredDirectivesAreNotSupported) {
  Issue({{PMIX_CRED_TYPE, Value::String("munge,canopy")}});
  EXPECT_EQ(status_, kSuccess);
  for (const char* type : {"munge", "", "canopyx", "munge,x"}) {
    Issue({{PMIX_CRED_TYPE, Value::String(type)}});
    EXPECT_EQ(status_, kErrNotSupported) << type;
  }
  Validate(Credential(), {{PMIX_CRED_TYPE, Value::String("munge")}});
  EXPECT_EQ(status_, kErrNotSupported);
  Issue(Required("unknown", Value::Bool(true)));
  EXPECT_EQ(status_, kErrNotSupported);
}

TEST_F(CredentialServiceTest, RejectsForgedAndExpiredCredentials) {
  std::string credential = Credential();
  now_ += kLifetimeS + kClockSkewS + 1;
  EXPECT_TRUE(Validate(credential).empty());
  EXPECT_EQ(status_, kErrInvalidCred);
  credential = Credential();
  credential[3] ^= 1;
  EXPECT_TRUE(Validate(credential).empty());
  EXPECT_EQ(status_, kErrInvalidCred);
  EXPECT_TRUE(Validate("").empty());
  EXPECT_EQ(status_, kErrInvalidCred);
}

TEST_F(CredentialServiceTest, WithoutAClusterKeyNoRequestIsSupported) {
  options_.cluster_key.reset();
  EXPECT_TRUE(Issue().empty());
  EXPECT_EQ(status_, kErrNotSupported);
  EXPECT_TRUE(Validate("x").empty());
  EXPECT_EQ(status_, kErrNotSupported);
}

TEST_F(CredentialServiceTest, RejectsMalformedRequests) {
  core::AskHost request;
  request.call = Bytes(std::string("\xff\xff\xff"));
  Bytes results;
  EXPECT_EQ(service().Issue(request, &results).code(), kErrUnpackFailure);
  EXPECT_EQ(service().Validate(request, &results).code(), kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::credential
