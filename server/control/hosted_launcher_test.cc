#include "server/control/hosted_launcher.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::control {
namespace {

class HostedLauncherTest : public testing::Test {
 protected:
  HostedLauncherTest() {
    directory_ = testing::TempDir() + "/hostedXXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    output_.output = directory_ + "/out";
    // Rank 0 is on the second of three nodes, and rank 1 on the first.
    job_.nodes.resize(3);
    job_.procs = {{1, 0, ""}, {0, 0, ""}};
    Make();
  }
  ~HostedLauncherTest() override {
    launcher_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Make() {
    HostedLauncher::Events events;
    events.request = [this](v1::RunRequest request) {
      if (request.has_reattach()) reattach_ = request.reattach();
      if (request.consumed() == 0) return;
      consumed_ += request.consumed();
      EXPECT_NE(state_, state_when_consumed_) << "acknowledged too early";
      state_when_consumed_ = state_;
    };
    events.gone = [this] { gone_ = true; };
    events.job = [this](const std::string&) { return &job_; };
    events.persist = [this](const std::string& state) { state_ = state; };
    events.warn = [this](const std::string& text) { said_.push_back(text); };
    launcher_ = std::make_unique<HostedLauncher>(&loop_, std::move(events));
  }
  Status Begin() {
    std::optional<Status> opened;
    launcher_->Begin(output_, nullptr, [&](const Status& status) {
      EXPECT_TRUE(state_.empty()) << "the job is not persisted yet";
      opened = status;
    });
    for (int i = 0; i < 2000 && !opened; ++i) loop_.RunOnce(10);
    return opened.value_or(Status(kError, "nothing is opened"));
  }
  void Output(Rank rank, const std::string& text,
              const std::string& nspace = "", uint32_t channel = 2) {
    v1::RunEvent event;
    event.mutable_output()->set_rank(rank);
    event.mutable_output()->set_channel(channel);
    event.mutable_output()->set_data(text);
    event.mutable_output()->set_nspace(nspace);
    sent_ += text.size();
    launcher_->Send(std::move(event));
  }
  void WaitForAll() {
    for (int i = 0; i < 2000 && consumed_ < sent_; ++i) loop_.RunOnce(10);
    EXPECT_EQ(consumed_, sent_);
  }
  std::string Written() const {
    std::ifstream in(output_.output);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<uint64_t> Bytes(
      const google::protobuf::RepeatedField<uint64_t>& bytes) {
    return {bytes.begin(), bytes.end()};
  }

  std::string directory_;
  HostOutput output_;
  JobSpec job_;
  EventLoop loop_;
  uint64_t sent_ = 0;
  uint64_t consumed_ = 0;
  std::string state_;
  std::string state_when_consumed_ = "none";
  v1::Reattach reattach_;
  bool gone_ = false;
  std::vector<std::string> said_;
  std::unique_ptr<HostedLauncher> launcher_;
};

TEST_F(HostedLauncherTest, OutputIsWrittenThenPersistedThenAcknowledged) {
  ASSERT_TRUE(Begin().ok());
  Output(0, "hello\n");
  EXPECT_EQ(consumed_, 0u);
  WaitForAll();
  Output(1, "there\n", "", 4);
  WaitForAll();
  EXPECT_EQ(Written(), "hello\nthere\n");
  EXPECT_FALSE(state_.empty());
}

TEST_F(HostedLauncherTest, RedirectedOutputIsAcknowledgedAndNotWritten) {
  ASSERT_TRUE(Begin().ok());
  v1::RunEvent event;
  event.mutable_output()->set_channel(2);
  event.mutable_output()->set_redirected(7);
  sent_ += 7;
  launcher_->Send(std::move(event));
  Output(0, "hello\n");
  WaitForAll();
  EXPECT_EQ(Written(), "hello\n");
}

TEST_F(HostedLauncherTest, ASuccessorReportsTheBytesReceivedFromEachNode) {
  ASSERT_TRUE(Begin().ok());
  Output(0, "hello\n");
  Output(1, "me\n");
  Output(1, "child\n", "other");
  WaitForAll();
  std::ofstream(output_.output, std::ios::app) << "not persisted";
  Make();
  launcher_->Reattach(output_, "token", state_);
  EXPECT_EQ(reattach_.token(), "token");
  EXPECT_EQ(Bytes(reattach_.received()), (std::vector<uint64_t>{3, 6, 0}));
  ASSERT_EQ(reattach_.spawned_size(), 1);
  EXPECT_EQ(reattach_.spawned(0).nspace(), "other");
  EXPECT_EQ(Bytes(reattach_.spawned(0).received()),
            (std::vector<uint64_t>{6, 0, 0}));
  Output(0, "again\n");
  WaitForAll();
  EXPECT_EQ(Written(), "hello\nme\nchild\nagain\n");
}

TEST_F(HostedLauncherTest, TheFirstPositionIsPersisted) {
  std::ofstream(output_.output) << "earlier\n";
  output_.append = true;
  ASSERT_TRUE(Begin().ok());
  std::ofstream(output_.output, std::ios::app) << "not persisted";
  Make();
  launcher_->Reattach(output_, "token", state_);
  Output(0, "hello\n");
  WaitForAll();
  EXPECT_EQ(Written(), "earlier\nhello\n");
}

TEST_F(HostedLauncherTest, ASuccessorStartsFromTheBeginningIfThereWasNoOutput) {
  ASSERT_TRUE(Begin().ok());
  std::ofstream(output_.output, std::ios::app) << "not persisted";
  Make();
  launcher_->Reattach(output_, "token", "");
  EXPECT_TRUE(reattach_.received().empty());
  Output(0, "hello\n");
  WaitForAll();
  EXPECT_EQ(Written(), "hello\n");
}

TEST_F(HostedLauncherTest, ASuccessorThatCannotOpenItsFileWarnsAndDropsOutput) {
  output_.output = directory_ + "/gone/out";
  launcher_->Reattach(output_, "token", "");
  Output(0, "hello\n");
  WaitForAll();
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("gone/out"), std::string::npos);
}

TEST_F(HostedLauncherTest, AFileThatCannotBeOpenedFailsTheLaunch) {
  output_.output = directory_ + "/gone/out";
  bool called = false;
  launcher_->Begin(output_, nullptr, [&](const Status& status) {
    EXPECT_EQ(status.code(), kErrJobSysOpFailed);
    called = true;
    launcher_.reset();
  });
  for (int i = 0; i < 2000 && !called; ++i) loop_.RunOnce(10);
  EXPECT_TRUE(called);
  EXPECT_TRUE(state_.empty());
}

TEST_F(HostedLauncherTest, NoticesAndTheReasonOfTheEndAreWritten) {
  ASSERT_TRUE(Begin().ok());
  Output(0, "hello\n");
  v1::RunEvent event;
  event.set_notice("job other has started");
  launcher_->Send(event);
  event.mutable_end()->set_text("rank 0 was killed");
  launcher_->Send(event);
  launcher_->FinishWhenWritten();
  for (int i = 0; i < 2000 && !gone_; ++i) loop_.RunOnce(10);
  EXPECT_TRUE(gone_);
  EXPECT_EQ(Written(),
            "hello\ncanopy: job other has started\ncanopy: rank 0 was "
            "killed\n");
}

TEST_F(HostedLauncherTest, FinishWhenWrittenEndsALauncherWithoutOutput) {
  ASSERT_TRUE(Begin().ok());
  launcher_->FinishWhenWritten();
  EXPECT_FALSE(gone_) << "not within the call";
  loop_.RunOnce(0);
  EXPECT_TRUE(gone_);
}

TEST_F(HostedLauncherTest, EmptyOutputAndOtherEventsWriteNothing) {
  ASSERT_TRUE(Begin().ok());
  Output(0, "");
  Output(7, "");
  v1::RunEvent event;
  event.set_flush(true);
  launcher_->Send(event);
  loop_.RunOnce(10);
  EXPECT_EQ(Written(), "");
}

TEST_F(HostedLauncherTest, AFullFileDoesNotEndTheJob) {
  output_.output = "/dev/full";
  ASSERT_TRUE(Begin().ok());
  Output(0, "hello\n");
  WaitForAll();
  EXPECT_EQ(said_.size(), 1u);
}

}  // namespace
}  // namespace canopy::control
