#include "client/abi/environment_array.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace canopy::client {
namespace {

using Entries = std::vector<std::string>;

class EnvironmentArrayTest : public testing::Test {
 protected:
  ~EnvironmentArrayTest() override {
    for (char** entry = env_; entry != nullptr && *entry != nullptr; ++entry) {
      free(*entry);
    }
    free(env_);
  }
  Entries Content() const {
    Entries entries;
    for (char** entry = env_; entry != nullptr && *entry != nullptr; ++entry) {
      entries.emplace_back(*entry);
    }
    return entries;
  }
  void Set(const Entries& entries) {
    EXPECT_TRUE(EditEnvironment([&](Entries* e) { *e = entries; }, &env_));
  }

  char** env_ = nullptr;
};

TEST_F(EnvironmentArrayTest, SetCreatesAnArrayForANullPointer) {
  Set({"A=1", "B=2"});
  EXPECT_EQ(Content(), (Entries{"A=1", "B=2"}));
}

TEST_F(EnvironmentArrayTest, EntriesAreAddedRemovedAndKept) {
  Set({"A=1", "B=2"});
  const char* kept = env_[1];
  Set({"B=2", "C=3"});
  EXPECT_EQ(Content(), (Entries{"B=2", "C=3"}));
  EXPECT_EQ(env_[0], kept);
}

TEST_F(EnvironmentArrayTest, SetWithEqualEntriesKeepsTheArray) {
  Set({"A=1"});
  char** before = env_;
  Set({"A=1"});
  EXPECT_EQ(env_, before);
}

}  // namespace
}  // namespace canopy::client
