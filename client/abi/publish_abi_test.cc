#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/local/data.h"

namespace canopy::client {
namespace {

using local::FrameType;

using Published = std::pair<const char*, Value>;
const ProcId kPublisher = {"job-2", 7};

// Returns the payload of a reply to a lookup.
std::string Found(const std::vector<Published>& entries) {
  Encoder encoder;
  encoder.PutSize(entries.size());
  for (const auto& [key, value] : entries) {
    pmix_pdata_t one = {};
    one.proc = ToC(kPublisher);
    std::strcpy(one.key, key);
    one.value = value.raw();
    encoder.PutElement(PMIX_PDATA, &one);
  }
  return encoder.Take();
}

// The array that PMIx_Lookup reads and fills.
class Wanted {
 public:
  explicit Wanted(const std::vector<std::string>& keys) : data_(keys.size()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      PMIX_PDATA_CONSTRUCT(&data_[i]);
      std::strcpy(data_[i].key, keys[i].c_str());
    }
  }
  ~Wanted() {
    for (pmix_pdata_t& one : data_) PMIX_PDATA_DESTRUCT(&one);
  }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

  int LookUp(const InfoList& infos = {}) {
    return PMIx_Lookup(data_.data(), data_.size(), infos.data(), infos.size());
  }
  const pmix_pdata_t& operator[](size_t i) const { return data_[i]; }
  pmix_pdata_t* data() { return data_.data(); }

 private:
  std::vector<pmix_pdata_t> data_;
};

// Keys with a final null, as C expects them.
class Keys {
 public:
  explicit Keys(std::vector<std::string> keys) : keys_(std::move(keys)) {
    for (std::string& key : keys_) pointers_.push_back(key.data());
    pointers_.push_back(nullptr);
  }
  operator char**() { return pointers_.data(); }  // NOLINT

 private:
  std::vector<std::string> keys_;
  std::vector<char*> pointers_;
};

class PublishTest : public ClientTest {
 protected:
  void Answer(FrameType type, int status, const std::string& payload = {}) {
    agent_->On(type, [=](FakeAgent& agent, const Request& request) {
      agent.Reply(request, status, payload);
    });
  }

  // The content of a request: infos, and keys unless it is a publish.
  struct Call {
    std::vector<std::string> keys;
    InfoList infos;
  };
  Call Last(FrameType type, size_t count = 1) {
    const Request request = agent_->Await(type, count);
    Call call;
    std::string_view infos;
    if (type == FrameType::kPublish) {
      infos = request.As<local::Publish>().info;
    } else {
      const auto frame = request.As<local::Keys>();
      call.keys.assign(frame.keys.begin(), frame.keys.end());
      infos = frame.info;
    }
    EXPECT_TRUE(DecodeInfos(infos, &call.infos));
    return call;
  }

  InfoList data_ = {{"service", Value::String("port 7")}};
};

TEST_F(PublishTest, DataAndDirectivesReachTheAgent) {
  data_.Add(PMIX_TIMEOUT, Value::Int(2));
  data_.Add(PMIX_PERSISTENCE, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_Publish(data_.data(), data_.size()), PMIX_SUCCESS);
  EXPECT_EQ(Last(FrameType::kPublish).infos, data_);
}

TEST_F(PublishTest, PublishReturnsTheAgentsStatus) {
  for (const int status : {PMIX_ERR_DUPLICATE_KEY, PMIX_ERR_NOT_SUPPORTED,
                           PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT}) {
    Answer(FrameType::kPublish, status);
    EXPECT_EQ(PMIx_Publish(data_.data(), data_.size()), status);
  }
}

TEST_F(PublishTest, ANonBlockingPublishReportsByItsCallback) {
  Answer(FrameType::kPublish, PMIX_ERR_DUPLICATE_KEY);
  OpResult result;
  ASSERT_EQ(PMIx_Publish_nb(data_.data(), data_.size(), OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_DUPLICATE_KEY);
  EXPECT_NE(result.thread, std::this_thread::get_id());
}

TEST_F(PublishTest, PublishRejectsWrongArguments) {
  OpResult result;
  InfoList nameless;
  nameless.Add("", Value::Int(1));
  EXPECT_EQ(PMIx_Publish(nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Publish(nullptr, 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Publish(data_.data(), 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Publish(nameless.data(), 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Publish_nb(nullptr, 1, OpResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kPublish), 0u);
}

// --------------------------------------------------------------- lookup ---

TEST_F(PublishTest, ALookupReturnsAllKeys) {
  Answer(FrameType::kLookup, PMIX_SUCCESS,
         Found({{"two", Value::Uint32(2)}, {"one", Value::String("first")}}));
  InfoList infos;
  infos.Add(PMIX_WAIT, Value::Int(2));
  infos.Add(PMIX_RANGE, Value::Bool(true));
  Wanted wanted({"one", "two"});
  EXPECT_EQ(wanted.LookUp(infos), PMIX_SUCCESS);
  EXPECT_STREQ(wanted[0].value.data.string, "first");
  EXPECT_EQ(FromC(wanted[0].proc), kPublisher);
  EXPECT_EQ(wanted[1].value.data.uint32, 2u);
  const Call call = Last(FrameType::kLookup);
  EXPECT_EQ(call.keys, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(call.infos, infos);
}

TEST_F(PublishTest, ALookupMayFindSomeKeys) {
  Answer(FrameType::kLookup, PMIX_ERR_PARTIAL_SUCCESS,
         Found({{"two", Value::Uint32(2)}}));
  Wanted wanted({"one", "two", "three"});
  EXPECT_EQ(wanted.LookUp(), PMIX_ERR_PARTIAL_SUCCESS);
  EXPECT_EQ(wanted[0].value.type, PMIX_UNDEF);
  EXPECT_EQ(wanted[1].value.type, PMIX_UINT32);
  EXPECT_EQ(wanted[2].value.type, PMIX_UNDEF);
}

TEST_F(PublishTest, ALookupWithoutAResultClearsTheValues) {
  for (const int status :
       {PMIX_ERR_NOT_FOUND, PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_TIMEOUT}) {
    Answer(FrameType::kLookup, status);
    Wanted wanted({"one"});
    wanted.data()[0].value.type = PMIX_INT;  // as left by an earlier call
    EXPECT_EQ(wanted.LookUp(), status);
    EXPECT_EQ(wanted[0].value.type, PMIX_UNDEF);
  }
}

TEST_F(PublishTest, ARepeatedKeyIsRequestedOnce) {
  Answer(FrameType::kLookup, PMIX_SUCCESS,
         Found({{"one", Value::String("first")}}));
  Wanted wanted({"one", "one"});
  EXPECT_EQ(wanted.LookUp(), PMIX_SUCCESS);
  EXPECT_STREQ(wanted[0].value.data.string, "first");
  EXPECT_STREQ(wanted[1].value.data.string, "first");
  EXPECT_EQ(Last(FrameType::kLookup).keys, std::vector<std::string>{"one"});
}

TEST_F(PublishTest, AMalformedReplyIsAFailure) {
  Answer(FrameType::kLookup, PMIX_SUCCESS, "nonsense");
  Wanted wanted({"one"});
  EXPECT_EQ(wanted.LookUp(), PMIX_ERR_UNPACK_FAILURE);
  EXPECT_EQ(wanted[0].value.type, PMIX_UNDEF);
  // The reply has more keys than requested.
  Answer(FrameType::kLookup, PMIX_SUCCESS,
         Found({{"one", Value::Int(1)}, {"two", Value::Int(2)}}));
  EXPECT_EQ(wanted.LookUp(), PMIX_ERR_UNPACK_FAILURE);
}

struct LookupResult {
  static void Set(pmix_status_t status, pmix_pdata_t data[], size_t ndata,
                  void* cbdata) {
    auto* result = static_cast<LookupResult*>(cbdata);
    result->is_null = data == nullptr;
    for (size_t i = 0; i < ndata; ++i) {
      result->found.emplace_back(std::string(data[i].key) + "=" +
                                 data[i].value.data.string);
    }
    result->status.set_value(status);
  }

  std::promise<int> status;
  bool is_null = false;
  std::vector<std::string> found;
};

TEST_F(PublishTest, ANonBlockingLookupReportsTheKeysFound) {
  Answer(FrameType::kLookup, PMIX_ERR_PARTIAL_SUCCESS,
         Found({{"one", Value::String("1")}, {"two", Value::String("2")}}));
  LookupResult result;
  ASSERT_EQ(PMIx_Lookup_nb(Keys({"one", "two", "three"}), nullptr, 0,
                           LookupResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_ERR_PARTIAL_SUCCESS);
  EXPECT_EQ(result.found, (std::vector<std::string>{"one=1", "two=2"}));
}

TEST_F(PublishTest, AFailedNonBlockingLookupReportsItsStatus) {
  Answer(FrameType::kLookup, PMIX_ERR_NOT_FOUND, Found({}));
  LookupResult result;
  ASSERT_EQ(
      PMIx_Lookup_nb(Keys({"one"}), nullptr, 0, LookupResult::Set, &result),
      PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(result.is_null);
}

TEST_F(PublishTest, LookupRejectsWrongArguments) {
  Wanted nameless({""});
  Wanted good({"one"});
  LookupResult result;
  EXPECT_EQ(PMIx_Lookup(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup(nullptr, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup(good.data(), 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup(good.data(), 1, nullptr, 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(nameless.LookUp(), PMIX_ERR_BAD_PARAM);
  std::memset(good.data()[0].key, 'k', sizeof(good[0].key));
  EXPECT_EQ(good.LookUp(), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup_nb(nullptr, nullptr, 0, LookupResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup_nb(Keys({}), nullptr, 0, LookupResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Lookup_nb(Keys({std::string(512, 'k')}), nullptr, 0,
                           LookupResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kLookup), 0u);
}

// ------------------------------------------------------------ unpublish ---

TEST_F(PublishTest, UnpublishRequestsTheNamedKeysOrAllKeys) {
  InfoList infos;
  infos.Add(PMIX_TIMEOUT, Value::Int(2));
  EXPECT_EQ(PMIx_Unpublish(Keys({"two", "one"}), infos.data(), infos.size()),
            PMIX_SUCCESS);
  const Call some = Last(FrameType::kUnpublish);
  EXPECT_EQ(some.keys, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(some.infos, infos);
  OpResult result;
  EXPECT_EQ(PMIx_Unpublish_nb(nullptr, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_SUCCESS);
  EXPECT_TRUE(Last(FrameType::kUnpublish, 2).keys.empty());
}

TEST_F(PublishTest, UnpublishRejectsWrongArguments) {
  OpResult result;
  // An empty array does not mean all keys.
  EXPECT_EQ(PMIx_Unpublish(Keys({}), nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Unpublish(Keys({""}), nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Unpublish(nullptr, nullptr, 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Unpublish_nb(Keys({}), nullptr, 0, OpResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kUnpublish), 0u);
}

TEST_F(PublishTest, CallbacksReportTheLossOfTheAgent) {
  agent_->On(FrameType::kUnpublish,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  OpResult result;
  ASSERT_EQ(PMIx_Unpublish_nb(nullptr, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_LOST_CONNECTION);
}

TEST(PublishWithoutAgentTest, CallsFailWithoutAnAgent) {
  Wanted wanted({"one"});
  InfoList data = {{"one", Value::Int(1)}};
  EXPECT_EQ(PMIx_Publish(data.data(), 1), PMIX_ERR_INIT);
  EXPECT_EQ(wanted.LookUp(), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Unpublish(nullptr, nullptr, 0), PMIX_ERR_INIT);
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Publish(data.data(), 1), PMIX_ERR_UNREACH);
  EXPECT_EQ(wanted.LookUp(), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Unpublish(nullptr, nullptr, 0), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
