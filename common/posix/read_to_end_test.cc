#include "common/posix/read_to_end.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

TEST(ReadToEndTest, ReadToEndReturnsAllBytes) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const std::string text(50000, 'x');
  ASSERT_EQ(write(writer.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  writer.Reset();
  EXPECT_EQ(ReadToEnd(reader.get()), text);
  EXPECT_EQ(ReadToEnd(reader.get()), "");
}

TEST(ReadToEndTest, AnUnreadableDescriptorGivesAnEmptyText) {
  EXPECT_EQ(ReadToEnd(-1), "");
}

}  // namespace
}  // namespace canopy
