#include "server/shim/process_texts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/shim/output_pump.h"

namespace canopy::process {
namespace {

constexpr uint64_t kWindow = 4096;

class ProcessTextsTest : public testing::Test {
 protected:
  ProcessTextsTest() { Make(false); }

  void Make(bool merge_stderr) {
    pump_ = std::make_unique<OutputPump>(
        &loop_, kWindow,
        [this](Rank rank, uint16_t channel, const Bytes& data) {
          log_ += std::to_string(rank) + "/" + std::to_string(channel) + ":" +
                  (data.empty() ? "END\n" : std::string(data.view()));
        },
        [this](Rank rank, uint16_t channel) {
          texts_->OnStreamEnding(rank, channel);
        },
        [](Rank) {});
    texts_ = std::make_unique<ProcessTexts>(&loop_, pump_.get(),
                                            [=](Rank) { return merge_stderr; });
    pump_->Resume();
    pipes_.clear();
    for (Rank rank = 0; rank < 3; ++rank) {
      for (const uint16_t channel : {kChannelStdout, kChannelStderr}) {
        if (merge_stderr && channel == kChannelStderr) continue;
        int fds[2];
        EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
        pump_->Add(rank, channel, UniqueFd(fds[0]));
        pipes_.emplace_back(fds[1]);
      }
    }
  }

  static TextRequest Request(Rank rank, const std::string& text) {
    TextRequest request;
    request.client = 100 + rank;
    request.request = 1;
    request.rank = rank;
    request.parts = {{kChannelStderr, text}};
    return request;
  }
  static TextRequest Kind(Rank rank, const std::string& text,
                          const std::string& value = "topic") {
    TextRequest request = Request(rank, text);
    request.key = "file";
    request.value = value;
    return request;
  }
  void EndAll() {
    for (Rank rank = 0; rank < 3; ++rank) pump_->ProcessEnded(rank);
    pipes_.clear();
    for (int i = 0; i < 5; ++i) loop_.RunOnce(0);
  }
  std::string Log() { return std::exchange(log_, ""); }

  EventLoop loop_;
  std::unique_ptr<OutputPump> pump_;
  std::unique_ptr<ProcessTexts> texts_;
  std::vector<UniqueFd> pipes_;
  std::string log_;
};

TEST_F(ProcessTextsTest, EachPartOfATextIsWrittenToItsStream) {
  TextRequest request = Request(1, "err\n");
  request.parts.push_back({kChannelStdout, "out\n"});
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "1/4:err\n1/2:out\n");
  EXPECT_EQ(texts_->Take(Request(7, "x")), kErrNotFound);
}

TEST_F(ProcessTextsTest, TextsOfMergedStreamsAreWrittenToOneChannel) {
  Make(true);
  EXPECT_EQ(texts_->Take(Request(1, "err\n")), kSuccess);
  EXPECT_EQ(Log(), "1/2:err\n");
  EXPECT_EQ(texts_->Take(Kind(0, "a\n")), kSuccess);
  EXPECT_EQ(texts_->Take(Kind(1, "a\n")), kSuccess);
  Log();
  EndAll();
  EXPECT_NE(Log().find("1/2:1 more process has sent"), std::string::npos);
}

TEST_F(ProcessTextsTest, RefusesTextsThatDoNotFit) {
  const std::string large(kMaxWaitingText, 'x');
  EXPECT_EQ(texts_->Take(Request(0, large)), kSuccess);
  EXPECT_EQ(texts_->Take(Request(1, large)), kErrOutOfResource);
  EXPECT_EQ(Log().size(), 4 + kWindow);
  EXPECT_EQ(texts_->Take(Kind(1, large)), kErrOutOfResource);
  pump_->Credit(kWindow);
  EXPECT_EQ(texts_->Take(Kind(1, "small")), kSuccess) << "it was not counted";
}

TEST_F(ProcessTextsTest, TextsOfOneKindAreAggregated) {
  EXPECT_EQ(texts_->Take(Kind(0, "first\n")), kSuccess);
  EXPECT_EQ(Log(), "0/4:first\n");
  EXPECT_EQ(texts_->Take(Kind(1, "second\n")), kSuccess);
  EXPECT_EQ(texts_->Take(Kind(2, "third\n")), kSuccess);
  EXPECT_EQ(texts_->Take(Kind(2, "once more\n")), kSuccess);
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(texts_->Take(Kind(2, "another\n", "other topic")), kSuccess);
  EXPECT_EQ(Log(), "2/4:another\n");
  EndAll();
  const std::string log = Log();
  const std::string count =
      "2/4:2 more processes have sent help message file / topic\n";
  EXPECT_LT(log.find(count), log.find("2/4:END")) << log;
  EXPECT_EQ(log.find("more", log.find(count) + count.size()),
            std::string::npos);
}

TEST_F(ProcessTextsTest, TheCountOfAggregatedTextsIsPrintedAfterADelay) {
  texts_->Take(Kind(0, "first\n"));
  texts_->Take(Kind(1, "second\n"));
  Log();
  while (log_.empty()) loop_.RunOnce(-1);
  EXPECT_EQ(Log(), "1/4:1 more process has sent help message file / topic\n");
  EndAll();
  EXPECT_EQ(Log().find("more"), std::string::npos);
}

TEST_F(ProcessTextsTest, TextsWithoutAKeyOrValueAreNotAggregated) {
  for (const bool has_key : {false, true}) {
    for (Rank rank = 0; rank < 2; ++rank) {
      TextRequest request = Request(rank, "text\n");
      if (has_key) request.key = "file";
      EXPECT_EQ(texts_->Take(request), kSuccess);
    }
    EXPECT_EQ(Log(), "0/4:text\n1/4:text\n");
  }
}

TEST_F(ProcessTextsTest, TheNumberOfAggregatedKindsIsLimited) {
  for (int i = 0; i < 300; ++i) {
    for (Rank rank = 0; rank < 2; ++rank) {
      texts_->Take(Kind(rank, "x", std::to_string(i)));
    }
    pump_->Credit(2);
  }
  EXPECT_EQ(Log().size(), 5u * (300 + 300 - 256));
}

TEST_F(ProcessTextsTest, ARepeatedTextIsPrintedOnce) {
  TextRequest request = Request(0, "text\n");
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "0/4:text\n");
  texts_->OnNewAgent();
  request.again = true;
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "");
  texts_->OnNewAgent();
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "");
  // This is a new request with the numbers of an earlier one.
  request.again = false;
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "0/4:text\n");
  // An answer is forgotten when two later agents have been served.
  texts_->OnNewAgent();
  texts_->OnNewAgent();
  request.again = true;
  EXPECT_EQ(texts_->Take(request), kSuccess);
  EXPECT_EQ(Log(), "0/4:text\n");
}

}  // namespace
}  // namespace canopy::process
