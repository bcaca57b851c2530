#include "server/control/family_recovery.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/control_testing.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

class FamilyRecoveryTest : public testing::Test {
 protected:
  FamilyRecoveryTest() {
    requests_.set_sink(&sink_);
    recovery_.set_sink(&sink_);
    families_.set_persistence(&records_, 1000);
    recovery_.set_timeout(60000);
  }

  void Record(const std::string& nspace) {
    (void)records_.PersistLaunch(*Job(nspace), "token", {});
  }
  void Reattach(const std::string& token) {
    families_.launchers()[kLauncher] = Launcher(&stream_, OwnUser());
    v1::Reattach reattach;
    reattach.set_token(token);
    recovery_.OnReattach(kLauncher, families_.FindLauncher(kLauncher),
                         reattach);
  }

  EventLoop loop_;
  RecordingSink sink_;
  Stream stream_;
  Records records_;
  Families families_;
  SpawnRequests requests_{&loop_};
  std::vector<std::string> resumed_;
  std::vector<std::pair<std::string, int>> ended_;
  FamilyRecovery recovery_{
      &loop_, &families_, &requests_,
      [this](Family* family) { resumed_.push_back(family->first()); },
      [this](const PersistedJob& job, const v1::JobEnd& end) {
        ended_.emplace_back(job.job->nspace, end.exit_code());
      }};
};

TEST_F(FamilyRecoveryTest, ALauncherReattachesToItsFamily) {
  Record("first");
  recovery_.Recover(records_.All());
  ASSERT_NE(families_.FindJob("first"), nullptr);
  EXPECT_EQ(families_.num_bound(), 0u);
  Reattach("token");
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kReattached).at(0).reattached().known());
  EXPECT_EQ(families_.LauncherOf("first"), families_.FindLauncher(kLauncher));
  EXPECT_EQ(sink_.Take<core::LauncherReattached>().size(), 1u);
  EXPECT_EQ(resumed_, std::vector<std::string>{"first"});
}

TEST_F(FamilyRecoveryTest, ALauncherGetsTheOutputDirectivesOfANewJob) {
  Record("first");
  auto child = Job("child");
  child->parent = {"first", 0};
  v1::JobMapped wishes;
  wishes.set_display_map(true);
  wishes.add_outputs()->set_tag(true);
  LaunchFacts facts;
  facts.spawn_request = 5;
  facts.wishes = wishes.SerializeAsString();
  (void)records_.PersistLaunch(*child, "token", facts);
  recovery_.Recover(records_.All());
  Reattach("token");
  for (const v1::RunEvent& event : stream_.Of(v1::RunEvent::kMapped)) {
    const v1::JobMapped& mapped = event.mapped();
    const bool is_child = mapped.nspace() == "child";
    EXPECT_EQ(mapped.display_map(), is_child);
    EXPECT_EQ(mapped.outputs_size(), is_child ? 1 : 0);
  }
  EXPECT_EQ(stream_.Of(v1::RunEvent::kMapped).size(), 2u);
}

TEST_F(FamilyRecoveryTest, ALauncherReceivesAnEndThatItMissed) {
  Record("first");
  v1::JobEnd end;
  end.set_exit_code(3);
  records_.PersistEnd("first", end.SerializeAsString());
  recovery_.Recover(records_.All());
  EXPECT_TRUE(families_.jobs().empty());
  EXPECT_EQ(ended_, (std::vector<std::pair<std::string, int>>{{"first", 3}}));
  Reattach("token");
  EXPECT_EQ(stream_.Of(v1::RunEvent::kEnd).at(0).end().exit_code(), 3);
  EXPECT_TRUE(stream_.finished);
}

TEST_F(FamilyRecoveryTest, AnUnknownTokenHasNoFamily) {
  Reattach("another");
  EXPECT_FALSE(
      stream_.Of(v1::RunEvent::kReattached).at(0).reattached().known());
}

TEST_F(FamilyRecoveryTest, AFamilyEndsIfItsLauncherDoesNotReattach) {
  Record("first");
  recovery_.set_timeout(0);
  recovery_.Recover(records_.All());
  loop_.RunOnce(1000);
  EXPECT_EQ(resumed_, std::vector<std::string>{"first"});
  EXPECT_EQ(sink_.Take<core::KillRequested>().at(0).nspace, "first");
  EXPECT_TRUE(records_.jobs.empty());
  EXPECT_EQ(families_.num_bound(), 0u) << "it does not hold up a handover";
}

}  // namespace
}  // namespace canopy::control
