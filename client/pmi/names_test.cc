#include "client/pmi/names.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "client/abi/client_fixture.h"
#include "client/session/fake_agent.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/local/data.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::pmi {
namespace {

using client::FakeAgent;
using client::Request;
using local::FrameType;

class NamesTest : public client::ClientTest {
 protected:
  void Answer(FrameType type, int status, const std::string& payload = {}) {
    agent_->On(type, [=](FakeAgent& agent, const Request& request) {
      agent.Reply(request, status, payload);
    });
  }
  // Makes every lookup return this value.
  void Find(const char* service, const Value& port) {
    pmix_pdata_t one = {};
    std::strcpy(one.key, service);
    one.value = port.raw();
    Encoder encoder;
    encoder.PutSize(1);
    encoder.PutElement(PMIX_PDATA, &one);
    Answer(FrameType::kLookup, PMIX_SUCCESS, encoder.Take());
  }
  std::vector<std::string> KeysOf(FrameType type) {
    const Request request = agent_->Await(type);
    const auto frame = request.As<local::Keys>();
    return {frame.keys.begin(), frame.keys.end()};
  }
};

TEST_F(NamesTest, AServiceOutlivesItsPublisher) {
  EXPECT_EQ(PublishName("service", "port 7"), PMIX_SUCCESS);
  const Request request = agent_->Await(FrameType::kPublish);
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(request.As<local::Publish>().info, &infos));
  EXPECT_EQ(infos.FindString("service"), "port 7");
  EXPECT_EQ(infos.FindUint(PMIX_PERSISTENCE), PMIX_PERSIST_SESSION);
  Answer(FrameType::kPublish, PMIX_ERR_DUPLICATE_KEY);
  EXPECT_EQ(PublishName("service", "port 8"), PMIX_ERR_DUPLICATE_KEY);
}

TEST_F(NamesTest, ALookupFindsAPublishedText) {
  Find("service", Value::String("port 7"));
  EXPECT_EQ(LookUpName("service"), "port 7");
  EXPECT_EQ(KeysOf(FrameType::kLookup), std::vector<std::string>{"service"});
  // A value of another type was published under the name.
  Find("service", Value::Uint32(7));
  EXPECT_EQ(LookUpName("service"), std::nullopt);
  Answer(FrameType::kLookup, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(LookUpName("service"), std::nullopt);
}

TEST_F(NamesTest, UnpublishNameSendsTheNameOfTheService) {
  EXPECT_EQ(UnpublishName("service"), PMIX_SUCCESS);
  EXPECT_EQ(KeysOf(FrameType::kUnpublish), std::vector<std::string>{"service"});
}

TEST_F(NamesTest, HasNameServiceReturnsTrueIfLookupsAreSupported) {
  Answer(FrameType::kLookup, PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(HasNameService());
  Answer(FrameType::kLookup, PMIX_ERR_NOT_SUPPORTED);
  EXPECT_FALSE(HasNameService());
}

TEST(ServiceNameTest, AServiceNameMustBeAnUnreservedKey) {
  EXPECT_TRUE(IsServiceName("service"));
  EXPECT_TRUE(IsServiceName(std::string(PMIX_MAX_KEYLEN, 'n').c_str()));
  EXPECT_FALSE(IsServiceName(std::string(PMIX_MAX_KEYLEN + 1, 'n').c_str()));
  EXPECT_FALSE(IsServiceName(PMIX_RANGE));
  EXPECT_FALSE(IsServiceName(""));
  EXPECT_FALSE(IsServiceName(nullptr));
}

}  // namespace
}  // namespace canopy::pmi
