#include "server/local/local_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "common/shm/commit_writer.h"
#include "server/ports/client_port.h"
#include "server/ports/fake_fd_store.h"
#include "server/ports/fake_sink.h"

namespace canopy::local {
namespace {

// Ranks 0 and 1 are local, rank 2 is remote.
core::RegisterJob Registration(const std::string& nspace) {
  JobSpec job;
  job.nspace = nspace;
  job.uid = 7;
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  core::RegisterJob registration;
  registration.layout = std::make_shared<JobLayout>(job);
  registration.job = std::make_shared<JobSpec>(std::move(job));
  return registration;
}

class LocalJobsTest : public testing::Test {
 protected:
  LocalJobsTest() : jobs_(&loop_, &sink_, Options()) {}

  LocalJobsOptions Options() {
    LocalJobsOptions options;
    options.watch_ns = int64_t{1000} * 1000 * 1000;
    options.token = [](const ProcId& proc) { return ToString(proc); };
    options.fd_store = &fd_store_;
    options.on_corrupted = [](const ProcId&) {};
    return options;
  }
  static core::ClientId Client(uint64_t number) {
    return MakeClientId(ClientKind::kLocal, number);
  }

  EventLoop loop_;
  FakeSink sink_;
  FakeFdStore fd_store_;
  LocalJobs jobs_;
};

TEST_F(LocalJobsTest, KnowsTheRanksOfThisNode) {
  jobs_.Add(Registration("job"));
  ASSERT_NE(jobs_.FindRank({"job", 1}), nullptr);
  EXPECT_EQ(jobs_.FindRank({"job", 1})->token, ToString({"job", 1}));
  EXPECT_EQ(jobs_.Find("job")->spec->uid, 7u);
  EXPECT_EQ(jobs_.FindRank({"job", 2}), nullptr);
  EXPECT_EQ(jobs_.FindRank({"other", 0}), nullptr);
  jobs_.Drop("job");
  EXPECT_EQ(jobs_.FindRank({"job", 1}), nullptr);
}

TEST_F(LocalJobsTest, TheFirstClientOfAJobGetsSharedMemory) {
  jobs_.Add(Registration("job"));
  EXPECT_EQ(jobs_.FindBarrier("job"), nullptr);
  const BarrierOffer first = jobs_.OfferBarrier({"job", 0}, Client(1));
  const BarrierOffer second = jobs_.OfferBarrier({"job", 1}, Client(2));
  EXPECT_GT(first.size, 0u);
  EXPECT_NE(first.index, second.index);
  EXPECT_NE(jobs_.FindBarrier("job"), nullptr);
  EXPECT_GT(jobs_.OfferMailboxes("job", first.index), 0u);
  EXPECT_NE(jobs_.FindMailboxes("job"), nullptr);
  EXPECT_EQ(fd_store_.nspaces, std::vector<std::string>{"job"});
}

TEST_F(LocalJobsTest, MailboxesCreatedAfterCloseMailboxesAreClosed) {
  using Outcome = shm::CommitWriter::Outcome;
  jobs_.Add(Registration("job"));
  jobs_.CloseMailboxes("job");
  jobs_.CloseMailboxes("other");
  const uint64_t size = jobs_.OfferMailboxes("job", 0);
  const std::atomic<uint32_t> sent = 0;
  auto writer =
      shm::CommitWriter::Map(jobs_.FindMailboxes("job")->fd(), size, 0, &sent);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ((*writer)->Write("commit"), Outcome::kMessage);
}

TEST_F(LocalJobsTest, AnUnknownJobGetsNoBarrierAndNoMailboxes) {
  EXPECT_EQ(jobs_.OfferBarrier({"job", 0}, Client(1)).size, 0u);
  EXPECT_EQ(jobs_.OfferMailboxes("job", 0), 0u);
  jobs_.TakeCommits({"job", 0});
}

TEST_F(LocalJobsTest, ASuccessorUsesTheStoredMailboxes) {
  jobs_.Add(Registration("job"));
  const BarrierOffer barrier = jobs_.OfferBarrier({"job", 0}, Client(1));
  jobs_.OfferMailboxes("job", barrier.index);
  ASSERT_EQ(fd_store_.files.size(), 1u);

  LocalJobs next(&loop_, &sink_, Options());
  next.RecoverMailboxes("job", std::move(fd_store_.files["commit-boxes"]));
  next.Add(Registration("job"));
  EXPECT_NE(next.FindMailboxes("job"), nullptr);
  EXPECT_EQ(next.FindBarrier("job"), nullptr);
}

TEST_F(LocalJobsTest, AnInvalidDescriptorRecoversNoMailboxes) {
  jobs_.RecoverMailboxes("job", UniqueFd());
  jobs_.Add(Registration("job"));
  EXPECT_EQ(jobs_.FindMailboxes("job"), nullptr);
}

}  // namespace
}  // namespace canopy::local
