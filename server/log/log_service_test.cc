#include "server/log/log_service.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/log_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::log {
namespace {

class LogServiceTest : public testing::Test {
 protected:
  LogServiceTest() : service_(Options()) {}

  LogServiceOptions Options() {
    LogServiceOptions options;
    options.places.put_text = [this](ProcessText text, TextDone done) {
      texts_.push_back(std::move(text));
      done(kSuccess);
    };
    options.now = [] { return time_t{1000000000}; };
    options.log = [this](const core::LogLine& line) {
      log_.push_back(line.text);
    };
    return options;
  }

  static std::string Encoded(const InfoList& infos) {
    std::string out;
    EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
    return out;
  }
  std::optional<int> Log(const InfoList& data, const InfoList& directives) {
    return Log(
        wire::Encode(host_call::Log{Encoded(data), Encoded(directives)}));
  }
  std::optional<int> Log(std::string call) {
    core::AskHost request;
    request.number = 9;
    request.source = {"job", 2};
    request.call = Bytes(std::move(call));
    std::optional<int> result;
    service_.Log(request, [&](const Status& status, const Bytes&) {
      result = status.code();
    });
    return result;
  }

  const InfoList text_ = {{PMIX_LOG_STDERR, Value::String("text")}};
  std::vector<ProcessText> texts_;
  std::vector<std::string> log_;
  LogService service_;
};

TEST_F(LogServiceTest, Job20TextsBecomeOutputOfTheCaller) {
  EXPECT_EQ(Log(text_, {}), kSuccess);
  ASSERT_EQ(texts_.size(), 1u);
  EXPECT_EQ(texts_[0].proc, (ProcId{"job", 2}));
  EXPECT_FALSE(texts_[0].again);
  ASSERT_EQ(texts_[0].pieces.size(), 1u);
  EXPECT_EQ(texts_[0].pieces[0].text, "text");
}

TEST_F(LogServiceTest, AResentTextHasTheSameIdentity) {
  const InfoList first = {{kLogNumber, Value::Uint64(0x100000005)}};
  const InfoList second = {{kLogNumber, Value::Uint64(0x100000006)}};
  for (const InfoList* directives : {&first, &first, &second}) {
    EXPECT_EQ(Log(text_, *directives), kSuccess);
  }
  ASSERT_EQ(texts_.size(), 3u);
  EXPECT_TRUE(texts_[0].again);
  EXPECT_EQ(texts_[0].client, texts_[1].client);
  EXPECT_EQ(texts_[0].request, texts_[1].request);
  EXPECT_NE(texts_[0].request, texts_[2].request);
  EXPECT_TRUE(log_.empty());
}

TEST_F(LogServiceTest, Gen10AnIgnoredDirectiveIsLoggedOnce) {
  const InfoList directives = {{"mine", Value::Bool(true)}};
  EXPECT_EQ(Log(text_, directives), kSuccess);
  EXPECT_EQ(Log(text_, directives), kSuccess);
  EXPECT_EQ(log_.size(), 1u);
}

TEST_F(LogServiceTest, AnUnsupportedDestinationAndMalformedDataFail) {
  EXPECT_EQ(Log({{PMIX_LOG_SYSLOG, Value::String("x")}}, {}), kErrNotSupported);
  EXPECT_EQ(Log(std::string("\xff")), kErrUnpackFailure);
  EXPECT_TRUE(texts_.empty());
}

}  // namespace
}  // namespace canopy::log
