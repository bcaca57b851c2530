#include "server/control/user_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::control {
namespace {

constexpr uid_t kAnn = 1001;
constexpr uid_t kBen = 1002;

UniqueFd Socket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM, 0)); }

TEST(UserConnections, AUserHasAShare) {
  UserConnections connections;
  std::vector<UniqueFd> open;
  for (size_t i = 0; i < UserConnections::kMaxOfUser; ++i) {
    open.push_back(Socket());
    ASSERT_TRUE(connections.Admit(open.back().get(), kAnn));
  }
  const UniqueFd more = Socket();
  EXPECT_FALSE(connections.Admit(more.get(), kAnn));
  EXPECT_TRUE(connections.Admit(more.get(), kBen));
}

TEST(UserConnections, ClosedConnectionsDoNotCount) {
  UserConnections connections;
  for (size_t i = 0; i < 3 * UserConnections::kMaxOfUser; ++i) {
    const UniqueFd fd = Socket();  // has the same number each time
    EXPECT_TRUE(connections.Admit(fd.get(), kAnn));
  }
}

TEST(UserConnections, AllUsersTogetherHaveALimit) {
  UserConnections connections;
  std::vector<UniqueFd> open;
  for (size_t i = 0; i < UserConnections::kMax; ++i) {
    open.push_back(Socket());
    ASSERT_TRUE(open.back()) << "too few descriptors for this test";
    ASSERT_TRUE(connections.Admit(open.back().get(),
                                  static_cast<uid_t>(kAnn + i / 32)));
  }
  EXPECT_FALSE(connections.Admit(Socket().get(), 7));
}

TEST(UserCalls, ACallCountsUntilItsEnd) {
  UserCalls calls;
  std::vector<UserCalls::Slot> slots;
  for (size_t i = 0; i < UserCalls::kMaxOfUser; ++i) {
    slots.push_back(calls.Begin(kAnn));
    ASSERT_NE(slots.back(), nullptr);
  }
  EXPECT_EQ(calls.Begin(kAnn), nullptr);
  EXPECT_NE(calls.Begin(kBen), nullptr);
  slots.pop_back();
  EXPECT_NE(calls.Begin(kAnn), nullptr);
}

}  // namespace
}  // namespace canopy::control
