#include "server/scheduler/pending_releases.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/scheduler/fake_report_store.h"

namespace canopy::scheduler {
namespace {

class PendingReleasesTest : public testing::Test {
 protected:
  PendingReleasesTest() { Begin(); }

  void Begin() {
    releases_ = std::make_unique<PendingReleases>(
        [this](const std::string& text) { said_.push_back(text); });
  }
  // Replaces the object by that of a successor. Returns the names of the
  // releases that the predecessor has left.
  std::vector<std::string> Restart() {
    Begin();
    std::vector<std::string> names;
    for (const auto& release :
         releases_->SetStore(&store_, store_.Load().releases)) {
      names.push_back(release.nspace());
    }
    return names;
  }
  static v1::JobReleasedRequest Of(const std::string& name, uint32_t attempt) {
    v1::JobReleasedRequest release;
    release.mutable_placement()->set_request_id(name);
    release.mutable_placement()->set_attempt(attempt);
    release.set_nspace(name);
    return release;
  }

  FakeReportStore store_;
  std::vector<std::string> said_;
  std::unique_ptr<PendingReleases> releases_;
};

TEST_F(PendingReleasesTest, ASuccessorGetsTheUnsentReleases) {
  EXPECT_TRUE(Restart().empty());
  releases_->Add(Of("a", 1));
  releases_->Add(Of("a", 2));
  releases_->Add(Of("b", 1));
  releases_->Remove(Of("a", 1));
  EXPECT_EQ(Restart(), (std::vector<std::string>{"a", "b"}));
  releases_->Remove(Of("a", 2));
  releases_->Add(Of("c", 1));
  releases_->Remove(Of("b", 1));
  EXPECT_EQ(Restart(), std::vector<std::string>{"c"});
}

TEST_F(PendingReleasesTest, ASecondReleaseOfAJobIsNotStoredAgain) {
  Restart();
  releases_->Add(Of("a", 1));
  Restart();
  releases_->Add(Of("a", 1));
  EXPECT_EQ(store_.releases.size(), 1u);
  releases_->Remove(Of("a", 1));
  releases_->Remove(Of("a", 1));
  EXPECT_TRUE(store_.releases.empty());
}

TEST_F(PendingReleasesTest, MalformedReleasesAreIgnored) {
  store_.releases[3] = "nonsense";
  EXPECT_TRUE(Restart().empty());
  releases_->Add(Of("a", 1));
  EXPECT_TRUE(store_.releases.contains(4));
}

TEST_F(PendingReleasesTest, WithoutAStoreReleasesAreNotStored) {
  releases_->Add(Of("a", 1));
  releases_->Remove(Of("a", 1));
  EXPECT_TRUE(store_.releases.empty());
}

TEST_F(PendingReleasesTest, AFailureToStoreIsLoggedOnce) {
  Restart();
  store_.status = Status(kErrJobSysOpFailed, "no space");
  releases_->Add(Of("a", 1));
  releases_->Remove(Of("a", 1));
  EXPECT_EQ(said_.size(), 1u);
}

}  // namespace
}  // namespace canopy::scheduler
