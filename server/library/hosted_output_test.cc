#include "server/library/hosted_output.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/host_op.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

const HostCaller kCaller{{"job", 0}, 7, 8, false};

class HostedOutputTest : public WithUpcalls<HostedOutputTest> {
 public:
  struct Asked {
    std::vector<ProcId> procs;
    uint16_t channels = 0;
    bool stops = false;
  };

  HostedOutputTest() {
    module_.iof_pull = [](const pmix_proc_t procs[], size_t nprocs,
                          const pmix_info_t infos[], size_t ninfo,
                          pmix_iof_channel_t channels, pmix_op_cbfunc_t done,
                          void* cbdata) {
      const InfoList given = InfoList::FromC(infos, ninfo);
      Asked asked{{}, channels, given.Has(PMIX_IOF_STOP)};
      for (size_t i = 0; i < nprocs; ++i)
        asked.procs.push_back(FromC(procs[i]));
      EXPECT_EQ(given.FindUint(PMIX_USERID).value_or(7), 7u);
      current->asked_.push_back(std::move(asked));
      if (current->status_ == PMIX_SUCCESS) done(PMIX_SUCCESS, cbdata);
      return current->status_;
    };
  }

  // Returns the status of the answer, or PMIX_ERR_EMPTY before it comes.
  int Read(core::ClientId client, std::string cursor = "", bool ends = false,
           const HostCaller& caller = kCaller, ProcId target = {"job", 1},
           uint16_t channels = kOutputChannel) {
    OutputRead read;
    read.handle = 1;
    read.channels = channels;
    read.cursor = std::move(cursor);
    read.ends = ends;
    core::HostCallArrived in;
    in.client = client;
    in.request = 1;
    in.op = HostOp::kReadOutput;
    in.targets = {std::move(target)};
    in.call = Bytes(wire::Encode(read));
    answer_status_ = PMIX_ERR_EMPTY;
    output_.Read(caller, in);
    Run();
    return answer_status_;
  }
  std::string Text() const {
    std::string text;
    for (const OutputPiece& piece : run_.pieces) text += piece.data.view();
    return text;
  }
  int Deliver(Rank rank, const std::string& text, bool complete = false) {
    return output_.Deliver(
        {{"job", rank}, kOutputChannel, Bytes(text), complete});
  }

  std::vector<Asked> asked_;
  pmix_status_t status_ = PMIX_SUCCESS;
  int answer_status_ = 0;
  OutputRun run_;
  HostedOutput output_{
      &module_, &upcalls(), &jobs_,
      [this](core::ClientId, core::RequestId, int status, std::string payload) {
        answer_status_ = status;
        run_ = {};
        if (!payload.empty()) {
          EXPECT_TRUE(wire::Decode(Bytes(payload), &run_));
        }
      }};
};

TEST_F(HostedOutputTest, DeliveredOutputIsRead) {
  EXPECT_EQ(Read(1), kSuccess);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].procs, (std::vector<ProcId>{{"job", 1}}));
  EXPECT_EQ(Read(1, run_.cursor), PMIX_ERR_EMPTY);
  EXPECT_EQ(Deliver(0, "of another"), kSuccess);
  EXPECT_EQ(answer_status_, PMIX_ERR_EMPTY);
  EXPECT_EQ(Deliver(1, "text"), kSuccess);
  EXPECT_EQ(answer_status_, kSuccess);
  EXPECT_EQ(Text(), "text");
  EXPECT_EQ(Read(1, run_.cursor), PMIX_ERR_EMPTY);
  Deliver(1, "", true);
  ASSERT_EQ(run_.pieces.size(), 1u);
  EXPECT_TRUE(run_.pieces[0].data.empty());
}

TEST_F(HostedOutputTest, OutputMayComeBeforeTheHostHasAgreed) {
  core::HostCallArrived in;
  EXPECT_EQ(Read(1), kSuccess);
  Deliver(1, "early");
  EXPECT_EQ(Read(1, run_.cursor), kSuccess);
  EXPECT_EQ(Text(), "early");
}

TEST_F(HostedOutputTest, InvalidReadsAreRefused) {
  status_ = PMIX_ERR_NO_PERMISSIONS;
  EXPECT_EQ(Read(1), PMIX_ERR_NO_PERMISSIONS);
  EXPECT_EQ(output_.size(), 0u);
  status_ = PMIX_SUCCESS;
  EXPECT_EQ(Read(1, "", false, {{"other", 0}, 9, 9, false}), kErrNoPermissions);
  EXPECT_EQ(Read(1, "", false, kCaller, {"", 0}), kErrBadParam);
  EXPECT_EQ(Read(1, "", false, kCaller, {"job", 1}, kInputChannel),
            kErrNotSupported);
  module_.iof_pull = nullptr;
  EXPECT_EQ(Read(1), kErrNotSupported);
}

TEST_F(HostedOutputTest, AChannelStopsWhenItsLastReaderLeaves) {
  Read(1);
  Read(2);
  EXPECT_EQ(Read(1, "", true), kSuccess);
  EXPECT_EQ(asked_.size(), 2u);
  output_.RemoveAll(2);
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_TRUE(asked_[2].stops);
  EXPECT_EQ(asked_[2].procs, (std::vector<ProcId>{{"job", kRankWildcard}}));
  EXPECT_EQ(output_.size(), 0u);
}

TEST_F(HostedOutputTest, FlowControlDelaysOutput) {
  Read(1);
  std::string cursor = run_.cursor;
  output_.SetFlow({"job", kRankWildcard}, kOutputChannel, true);
  Deliver(1, "held");
  EXPECT_EQ(Read(1, cursor), PMIX_ERR_EMPTY);
  output_.SetFlow({"job", 0}, kOutputChannel, false);
  EXPECT_EQ(answer_status_, PMIX_ERR_EMPTY);
  output_.SetFlow({"job", kRankWildcard}, kOutputChannel, false);
  EXPECT_EQ(Text(), "held");
}

TEST_F(HostedOutputTest, DelayedOutputIsBounded) {
  output_.SetFlow({"job", 1}, kOutputChannel, true);
  const std::string much(size_t{32} << 20, 'x');
  EXPECT_EQ(Deliver(1, much), kSuccess);
  EXPECT_EQ(Deliver(1, much), kSuccess);
  EXPECT_EQ(Deliver(1, "x"), kErrOutOfResource);
}

TEST_F(HostedOutputTest, APendingReadEndsWithItsJob) {
  Read(1);
  EXPECT_EQ(Read(1, run_.cursor), PMIX_ERR_EMPTY);
  output_.DropJob("job");
  EXPECT_EQ(answer_status_, kSuccess);
  EXPECT_TRUE(run_.complete);
}

}  // namespace
}  // namespace canopy::library
