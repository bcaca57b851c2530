#include "server/control/output_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"

namespace canopy::control {
namespace {

class OutputWriterTest : public testing::Test {
 protected:
  OutputWriterTest() {
    directory_ = testing::TempDir() + "/outputXXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
  }
  ~OutputWriterTest() override {
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string In(const std::string& name) const {
    return directory_ + "/" + name;
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Fill(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  void Begin(const HostOutput& names,
             std::optional<OutputPositions> from = std::nullopt) {
    opened_.reset();
    held_ = std::make_shared<int>();
    writer_ = std::make_unique<OutputWriter>(
        &loop_, names, from, held_,
        [this](const Status& status, const OutputPositions& begin) {
          EXPECT_FALSE(opened_.has_value());
          opened_ = status;
          begin_ = begin;
        },
        [this](size_t pieces, const OutputPositions& at, const Status& status) {
          EXPECT_TRUE(opened_.has_value());
          written_ += pieces;
          at_ = at;
          if (!status.ok()) failures_.push_back(status.message());
        });
    EXPECT_FALSE(opened_.has_value()) << "not in this thread";
  }
  Status Open(const HostOutput& names,
              std::optional<OutputPositions> from = std::nullopt) {
    Begin(names, from);
    for (int i = 0; i < 2000 && !opened_; ++i) loop_.RunOnce(10);
    return opened_.value_or(Status(kError, "they are not opened"));
  }
  void Write(const std::string& text, bool error = false) {
    writer_->Write(error, Bytes(text));
    ++asked_;
  }
  void Wait() {
    for (int i = 0; i < 2000 && written_ < asked_; ++i) loop_.RunOnce(10);
    EXPECT_EQ(written_, asked_);
  }

  std::string directory_;
  EventLoop loop_;
  size_t asked_ = 0;
  size_t written_ = 0;
  std::shared_ptr<int> held_;
  std::optional<Status> opened_;
  OutputPositions begin_;
  OutputPositions at_;
  std::vector<std::string> failures_;
  std::unique_ptr<OutputWriter> writer_;
};

TEST_F(OutputWriterTest, FilesAreTruncatedAndWrittenInOrder) {
  Fill(In("out"), "what was there");
  ASSERT_TRUE(Open({In("out"), In("err"), false}).ok());
  Write("one\n");
  Write("bad\n", true);
  Write("two\n");
  Wait();
  EXPECT_EQ(Read(In("out")), "one\ntwo\n");
  EXPECT_EQ(Read(In("err")), "bad\n");
  EXPECT_EQ(at_.output, 8u);
  EXPECT_EQ(at_.error, 4u);
}

TEST_F(OutputWriterTest, BothStreamsCanGoToOneFile) {
  for (const std::string& error : {std::string(), In("out")}) {
    ASSERT_TRUE(Open({In("out"), error, false}).ok());
    Write("one\n");
    Write("bad\n", true);
    Write("two\n");
    Wait();
    EXPECT_EQ(Read(In("out")), "one\nbad\ntwo\n");
    EXPECT_EQ(at_.output, 12u);
    EXPECT_EQ(at_.error, 0u);
  }
}

TEST_F(OutputWriterTest, WithAppendTheFormerContentIsKept) {
  Fill(In("out"), "before\n");
  ASSERT_TRUE(Open({In("out"), "", true}).ok());
  Write("after\n");
  Wait();
  EXPECT_EQ(Read(In("out")), "before\nafter\n");
  EXPECT_EQ(at_.output, 13u);
}

// A successor overwrites output whose position its predecessor has not
// persisted, because it receives this output again.
TEST_F(OutputWriterTest, ASuccessorContinuesAtTheRecordedPosition) {
  Fill(In("out"), "noted\nnot noted\n");
  const OutputPositions from = {6, 0};
  for (const bool append : {false, true}) {
    ASSERT_TRUE(Open({In("out"), "", append}, from).ok());
    EXPECT_EQ(begin_.output, 6u);
    Write("next\n");
    Wait();
    EXPECT_EQ(Read(In("out")), "noted\nnext\n");
  }
}

TEST_F(OutputWriterTest, OutputWithoutAFileIsDropped) {
  ASSERT_TRUE(Open({"", In("err"), false}).ok());
  Write("dropped\n");
  Write("kept\n", true);
  Wait();
  EXPECT_EQ(Read(In("err")), "kept\n");
  EXPECT_TRUE(failures_.empty());
}

TEST_F(OutputWriterTest, AFileThatCannotBeOpenedIsReported) {
  const Status status = Open({In("no/such/out"), "", false});
  EXPECT_EQ(status.code(), kErrJobSysOpFailed);
  EXPECT_NE(status.message().find("no/such/out"), std::string::npos);
  Write("dropped\n");
  Wait();
  EXPECT_EQ(at_.output, 0u);
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Open({In("pipe"), "", false}).ok()) << "nobody reads it";
}

// The pipe stands for a file system that does not answer.
TEST_F(OutputWriterTest, OutputWaitsUntilTheFilesAreOpen) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  const int reader = open(In("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  Begin({In("pipe"), In("err"), false});
  Write("one");
  Write("two", true);
  EXPECT_FALSE(opened_.has_value());
  Wait();
  EXPECT_TRUE(opened_.has_value() && opened_->ok());
  EXPECT_EQ(held_.use_count(), 1) << "the thread does not open any more";
  char text[8] = "";
  EXPECT_EQ(read(reader, text, sizeof text), 3);
  EXPECT_EQ(Read(In("err")), "two");
  close(reader);
}

TEST_F(OutputWriterTest, NoCallbackRunsAfterDestructionWhileFilesAreOpened) {
  Begin({In("out"), "", false});
  writer_.reset();
  for (int i = 0; i < 2000 && held_.use_count() > 1; ++i) loop_.RunOnce(1);
  EXPECT_EQ(held_.use_count(), 1);
  for (int i = 0; i < 5; ++i) loop_.RunOnce(1);
  EXPECT_FALSE(opened_.has_value());
}

TEST_F(OutputWriterTest, AFullFileIsReportedOnceAndTheOtherIsWritten) {
  ASSERT_TRUE(Open({"/dev/full", In("err"), false}).ok());
  Write("one");
  Wait();
  Write("two");
  Write("three", true);
  Wait();
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_NE(failures_[0].find("/dev/full"), std::string::npos);
  EXPECT_EQ(Read(In("err")), "three");
}

TEST_F(OutputWriterTest, NoCallbackRunsAfterDestruction) {
  ASSERT_TRUE(Open({In("out"), "", false}).ok());
  writer_->Write(false, Bytes("text"));
  writer_.reset();
  for (int i = 0; i < 5; ++i) loop_.RunOnce(10);
  EXPECT_EQ(written_, 0u);
}

}  // namespace
}  // namespace canopy::control
