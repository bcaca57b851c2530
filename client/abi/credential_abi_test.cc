#include <gtest/gtest.h>

#include <future>
#include <string>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

using local::FrameType;

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
  return out;
}

class CredentialTest : public ClientTest {
 protected:
  void Answer(int status, const InfoList& results = {}) {
    agent_->On(FrameType::kHostCall,
               [status, payload = Encoded(results)](FakeAgent& agent,
                                                    const Request& request) {
                 agent.Reply(request, status, payload);
               });
  }
  // Returns the content of the host call that the agent receives next.
  std::string_view Sent(HostOp op) {
    frame_ = agent_->Await(FrameType::kHostCall);
    const auto frame = frame_.As<local::HostCall>();
    EXPECT_EQ(frame.op, op);
    EXPECT_TRUE(frame.targets.empty());
    return frame.call;
  }

  Request frame_;
  const InfoList issued_ = {{PMIX_CREDENTIAL, Value::ByteObject("secret")},
                            {PMIX_CRED_TYPE, Value::String("canopy")}};
};

TEST_F(CredentialTest, Sec04TheCallerOwnsTheBytesOfACredential) {
  Answer(kSuccess, issued_);
  pmix_byte_object_t credential = {nullptr, 0};
  ASSERT_EQ(PMIx_Get_credential(nullptr, 0, &credential), PMIX_SUCCESS);
  EXPECT_EQ(std::string(credential.bytes, credential.size), "secret");
  PMIX_BYTE_OBJECT_DESTRUCT(&credential);
  Sent(HostOp::kGetCredential);
}

TEST_F(CredentialTest, AFailedCallReturnsAnEmptyCredential) {
  Answer(kErrNotSupported);
  pmix_byte_object_t credential = {nullptr, 7};
  EXPECT_EQ(PMIx_Get_credential(nullptr, 0, &credential),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(credential.bytes, nullptr);
  EXPECT_EQ(credential.size, 0u);
  // The agent reports success without a credential.
  Answer(kSuccess);
  EXPECT_EQ(PMIx_Get_credential(nullptr, 0, &credential), PMIX_ERR_NOT_FOUND);
}

TEST_F(CredentialTest, ANonBlockingCallPassesTheCredentialToItsCallback) {
  Answer(kSuccess, issued_);
  std::promise<std::string> done;
  const auto on_done = [](pmix_status_t status, pmix_byte_object_t* credential,
                          pmix_info_t info[], size_t ninfo, void* cbdata) {
    EXPECT_EQ(status, PMIX_SUCCESS);
    EXPECT_EQ(ninfo, 1u);
    if (ninfo == 1) {
      EXPECT_EQ(KeyOf(info[0]), PMIX_CRED_TYPE);
    }
    static_cast<std::promise<std::string>*>(cbdata)->set_value(
        {credential->bytes, credential->size});
  };
  ASSERT_EQ(PMIx_Get_credential_nb(nullptr, 0, on_done, &done), PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), "secret");
}

TEST_F(CredentialTest, Sec05ValidationReportsTheHolder) {
  Answer(kSuccess, {{PMIX_USERID, Value::Uint32(7)}});
  std::string bytes = "secret";
  const pmix_byte_object_t credential = {bytes.data(), bytes.size()};
  pmix_info_t* results = nullptr;
  size_t count = 0;
  const InfoList with = Flags({"directive"});
  ASSERT_EQ(PMIx_Validate_credential(&credential, with.data(), with.size(),
                                     &results, &count),
            PMIX_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(KeyOf(results[0]), PMIX_USERID);
  free(results);
  host_call::ValidateCredential call;
  ASSERT_TRUE(wire::Decode(Sent(HostOp::kValidateCredential), &call));
  EXPECT_EQ(call.credential, "secret");
  EXPECT_EQ(call.infos, Encoded(with));
}

TEST_F(CredentialTest, AFailedValidationHasNoResults) {
  Answer(kErrInvalidCred);
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, pmix_info_t*, size_t ninfo,
                          void* cbdata) {
    EXPECT_EQ(ninfo, 0u);
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  const pmix_byte_object_t none = {nullptr, 0};
  ASSERT_EQ(PMIx_Validate_credential_nb(&none, nullptr, 0, on_done, &done),
            PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_ERR_INVALID_CRED);
}

TEST_F(CredentialTest, MalformedCallsAreRejected) {
  pmix_info_t* results = nullptr;
  size_t count = 0;
  pmix_byte_object_t credential = {nullptr, 3};
  EXPECT_EQ(PMIx_Get_credential(nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_credential(nullptr, 1, &credential), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Validate_credential(nullptr, nullptr, 0, &results, &count),
            PMIX_ERR_BAD_PARAM);
  credential = {nullptr, 3};
  EXPECT_EQ(PMIx_Validate_credential(&credential, nullptr, 0, &results, &count),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Validate_credential(&credential, nullptr, 0, nullptr, &count),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 0u);
}

}  // namespace
}  // namespace canopy::client
