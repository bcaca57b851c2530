#include "server/agent/recovery/recovery_coordinator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace canopy::agent {
namespace {

using Calls = std::vector<std::string>;

std::shared_ptr<const JobSpec> Job(const std::string& nspace) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  return job;
}

UniqueFd File() { return UniqueFd(memfd_create("test", MFD_CLOEXEC)); }

std::string Names(const std::vector<NamedFd>& stored) {
  std::string names;
  for (const NamedFd& one : stored) {
    if (one.fd) names += " " + one.name;
  }
  return names;
}

// The state that outlives agents: the shims of the node and the control files.
struct Node {
  std::map<std::string, std::map<std::string, UniqueFd>> shims;
  std::vector<ControlledJob> control;

  void AddShim(const std::string& nspace, const Calls& names) {
    for (const std::string& name : names) shims[nspace][name] = File();
  }
  void AddControlled(const std::string& nspace, bool ended) {
    ControlledJob job;
    job.persisted.job = Job(nspace);
    job.persisted.token = "token";
    if (ended) job.persisted.end = "end";
    job.state = Bytes(std::string("state of ") + nspace);
    control.push_back(std::move(job));
  }
};

// An agent of the node. Its memory ends with it.
class FakeAgent : public RecoveryActions {
 public:
  explicit FakeAgent(Node* node) : node_(node) {}

  std::vector<process::RecoveredJob> FindJobs() override {
    Note("find");
    std::vector<process::RecoveredJob> found;
    for (const auto& [nspace, stored] : node_->shims) {
      process::RecoveredJob job;
      job.job = Job(nspace);
      for (const auto& [name, fd] : stored) {
        job.held.push_back({name, DuplicateFd(fd.get())});
      }
      found.push_back(std::move(job));
    }
    return found;
  }
  std::vector<ControlledJob> ReadControlRecords() override {
    Note("read control");
    return node_->control;
  }
  void ExpectLaunchers(const std::vector<ControlledJob>& jobs) override {
    Note("expect " + std::to_string(jobs.size()));
  }
  void TakeOverDirectories() override { Note("directories"); }
  core::JobRecovered ReadJob(process::RecoveredJob* job) override {
    Note("read " + job->job->nspace);
    core::JobRecovered recovered;
    recovered.job = job->job;
    return recovered;
  }
  void OfferMailboxes(const std::string& nspace, UniqueFd mailboxes) override {
    Note((mailboxes ? "mailboxes " : "no mailboxes ") + nspace);
  }
  // The core receives an input only when the queue is drained.
  void RestoreJob(core::JobRecovered job) override {
    queued_.push_back(
        "job " + job.job->nspace + (job.has_shim ? "" : " without a shim") +
        (job.control ? " controlled" : "") + (job.over ? " over" : ""));
  }
  void Drain() override {
    for (std::string& input : std::exchange(queued_, {})) {
      Note(std::move(input));
    }
    Note("drained");
  }
  void RemoveForgotten(const std::string& nspace) override {
    Note("forgotten " + nspace);
  }
  void PersistAgain(const std::string& nspace) override {
    Note("persist " + nspace);
    for (const char* name : {"journal", "segment", "stock.listener"}) {
      node_->shims[nspace][name] = File();
    }
  }
  void ResumeReports(const std::string& nspace) override {
    Note("resume " + nspace);
    queued_.push_back("exits of " + nspace);
  }
  void RestoreOpenPmix(const std::string& nspace,
                       std::vector<NamedFd> stored) override {
    Note("openpmix " + nspace + Names(stored));
    queued_.push_back("clients of " + nspace);
  }
  void RestorePmi(const std::string& nspace,
                  std::vector<NamedFd> stored) override {
    Note("pmi " + nspace + Names(stored));
  }
  void AdmitConnections() override {
    Note("admit");
    queued_.emplace_back("unidentified clients");
  }

  Calls Take() { return std::exchange(calls_, {}); }
  // Returns true if there is an input that no stage has handled.
  bool has_queued() const { return !queued_.empty(); }

 private:
  void Note(std::string call) { calls_.push_back(std::move(call)); }

  Node* const node_;
  Calls calls_;
  Calls queued_;
};

class RecoveryCoordinatorTest : public testing::Test {
 protected:
  RecoveryCoordinatorTest() {
    node_.AddShim("a", {"journal", "segment", "stock.listener", "commit-boxes",
                        "stock.ledger", "stock.7"});
    node_.AddShim("b", {"journal", "segment", "stock.listener", "pmi1.states",
                        "pmi1.rank.0"});
    node_.AddControlled("b", false);
    node_.AddControlled("c", false);
    node_.AddControlled("d", true);
  }

  static std::vector<std::function<void()>> Stages(
      RecoveryCoordinator* coordinator) {
    return {
        [=] { coordinator->FindJobs(); },
        [=] { coordinator->TakeListener(); },
        [=] { coordinator->ReadControlRecords(); },
        [=] { coordinator->RestoreJobs(); },
        [=] { coordinator->PersistAgain(); },
        [=] { coordinator->ResumeReports(); },
        [=] { coordinator->RestoreConnections(); },
        [=] { coordinator->AdmitConnections(); },
    };
  }
  // Runs the stages up to `last`.
  static void RunTo(RecoveryStage last, RecoveryCoordinator* coordinator) {
    const auto stages = Stages(coordinator);
    for (size_t i = 0; i < static_cast<size_t>(last); ++i) stages[i]();
    EXPECT_EQ(coordinator->stage(), last);
  }
  // Runs the stages up to `stage`, and returns the calls of this last stage.
  Calls CallsOf(RecoveryStage stage) {
    FakeAgent agent(&node_);
    RecoveryCoordinator coordinator(&agent);
    const auto index = static_cast<size_t>(stage) - 1;
    RunTo(static_cast<RecoveryStage>(index), &coordinator);
    agent.Take();
    Stages(&coordinator)[index]();
    EXPECT_EQ(coordinator.stage(), stage);
    EXPECT_FALSE(agent.has_queued()) << "for the next stage";
    return agent.Take();
  }

  Node node_;
};

TEST_F(RecoveryCoordinatorTest, FindJobsQueriesTheShims) {
  EXPECT_EQ(CallsOf(RecoveryStage::kFindJobs), Calls{"find"});
}

TEST_F(RecoveryCoordinatorTest, TheListenerComesFromAShim) {
  EXPECT_EQ(CallsOf(RecoveryStage::kTakeListener), Calls());
  FakeAgent agent(&node_);
  RecoveryCoordinator coordinator(&agent);
  coordinator.FindJobs();
  EXPECT_TRUE(coordinator.TakeListener());
}

TEST_F(RecoveryCoordinatorTest, WithoutAShimTheListenerIsMissing) {
  Node empty;
  FakeAgent agent(&empty);
  RecoveryCoordinator coordinator(&agent);
  coordinator.FindJobs();
  EXPECT_FALSE(coordinator.TakeListener());
}

TEST_F(RecoveryCoordinatorTest, LaunchersMayReattachBeforeTheCoreHasTheJobs) {
  EXPECT_EQ(CallsOf(RecoveryStage::kReadControlRecords),
            (Calls{"read control", "expect 3"}));
}

TEST_F(RecoveryCoordinatorTest,
       EachJobIsRestoredByOneInputAndItsMailboxesAreRemoved) {
  EXPECT_EQ(CallsOf(RecoveryStage::kRestoreJobs),
            (Calls{"directories", "read a", "mailboxes a", "job a", "drained",
                   "no mailboxes a", "forgotten a", "read b", "no mailboxes b",
                   "job b controlled", "drained", "no mailboxes b",
                   "forgotten b", "job c without a shim controlled",
                   "job d without a shim controlled over", "drained"}));
}

TEST_F(RecoveryCoordinatorTest, EachRecoveredJobIsPersistedAgain) {
  EXPECT_EQ(CallsOf(RecoveryStage::kPersistAgain),
            (Calls{"persist a", "persist b"}));
}

TEST_F(RecoveryCoordinatorTest, ReportsAreHandledBeforeConnections) {
  EXPECT_EQ(
      CallsOf(RecoveryStage::kResumeReports),
      (Calls{"resume a", "resume b", "exits of a", "exits of b", "drained"}));
}

TEST_F(RecoveryCoordinatorTest, EachEndpointGetsItsStoredStates) {
  EXPECT_EQ(CallsOf(RecoveryStage::kRestoreConnections),
            (Calls{"openpmix a stock.7 stock.ledger", "pmi a",
                   "openpmix b stock.listener", "pmi b pmi1.rank.0 pmi1.states",
                   "clients of a", "clients of b", "drained"}));
}

TEST_F(RecoveryCoordinatorTest, UnidentifiedConnectionsAreAdmittedLast) {
  EXPECT_EQ(CallsOf(RecoveryStage::kAdmitConnections),
            (Calls{"admit", "unidentified clients", "drained"}));
}

TEST_F(RecoveryCoordinatorTest, AStageOutOfOrderAbortsTheAgent) {
  FakeAgent agent(&node_);
  RecoveryCoordinator coordinator(&agent);
  coordinator.FindJobs();
  EXPECT_DEATH(coordinator.RestoreJobs(), "stage");
}

// The next agent must recover the same state after every stage in which an
// agent may die.
class DeathTest : public RecoveryCoordinatorTest,
                  public testing::WithParamInterface<int> {};

TEST_P(DeathTest, TheNextAgentRecoversTheSameState) {
  FakeAgent expected(&node_);
  {
    RecoveryCoordinator coordinator(&expected);
    coordinator.FindJobs();
    coordinator.TakeListener();
    coordinator.RecoverJobs();
  }
  {
    FakeAgent dies(&node_);
    RecoveryCoordinator coordinator(&dies);
    RunTo(static_cast<RecoveryStage>(GetParam()), &coordinator);
  }
  FakeAgent next(&node_);
  RecoveryCoordinator coordinator(&next);
  coordinator.FindJobs();
  EXPECT_TRUE(coordinator.TakeListener());
  coordinator.RecoverJobs();
  EXPECT_EQ(next.Take(), expected.Take());
}

INSTANTIATE_TEST_SUITE_P(
    AfterEachStage, DeathTest,
    testing::Range(0, static_cast<int>(RecoveryStage::kAdmitConnections) + 1),
    [](const auto& param) {
      std::string name = NameOf(static_cast<RecoveryStage>(param.param));
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace canopy::agent
