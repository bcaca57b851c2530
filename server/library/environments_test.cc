#include "server/library/environments.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace canopy::library {
namespace {

using Entries = Environments::Entries;

class EnvironmentsTest : public testing::Test {
 protected:
  ~EnvironmentsTest() override { all().Clear(); }
  static Environments& all() { return Environments::OfProcess(); }
};

TEST_F(EnvironmentsTest, JoinsTheEntriesOfTheJobAndTheRank) {
  all().SetJob("job", {"A=1"});
  all().SetRank({"job", 3}, {"B=2"});
  EXPECT_EQ(all().Of({"job", 3}), (Entries{"A=1", "B=2"}));
  EXPECT_TRUE(all().Of({"job", 4}).empty());
  EXPECT_TRUE(all().Of({"other", 3}).empty());
  all().Drop("job");
  EXPECT_TRUE(all().Of({"job", 3}).empty());
}

// The child can read the entries even if another thread uses them during the
// fork.
TEST_F(EnvironmentsTest, AForkedChildCanReadTheEntries) {
  all().SetJob("job", {"A=1"});
  all().SetRank({"job", 3}, {"B=2"});
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) all().SetJob("other", {"C=3"});
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(Environments::OfProcess().Of({"job", 3}).size() == 2 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace canopy::library
