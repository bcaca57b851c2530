#include "client/tools/typed_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <string>

namespace canopy::tools {
namespace {

constexpr char kKey = 0x1d;

void Type(int fd, const std::string& text) {
  ASSERT_EQ(write(fd, text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
}

TEST(ControlCharacterTest, ReadsBothSpellingsOfAControlCharacter) {
  EXPECT_EQ(ControlCharacter("ctrl-]"), kKey);
  EXPECT_EQ(ControlCharacter("^]"), kKey);
  EXPECT_EQ(ControlCharacter("^q"), 'Q' - '@');
  for (const char* const none : {"", "]", "^", "^^^", "ctrl-1", "^@", "^j"}) {
    EXPECT_EQ(ControlCharacter(none), 0) << none;
  }
}

TEST(TypedInputTest, TheKeyIsOrdinaryInputOfAPipe) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  TypedInput input(fds[0], kKey);
  Type(fds[1], std::string("a") + kKey + "b");
  const TypedPiece piece = input.Read();
  EXPECT_EQ(piece.bytes, std::string("a") + kKey + "b");
  EXPECT_FALSE(piece.detaches);
  EXPECT_FALSE(piece.ends);
  close(fds[1]);
  EXPECT_TRUE(input.Read().ends);
  EXPECT_FALSE(input.AwaitKey());
  close(fds[0]);
}

// Runs in the child process, whose controlling terminal is the other side of
// `master`.
int OnTerminal(int master) {
  setsid();
  const int fd = open(ptsname(master), O_RDWR);
  if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0) return 10;
  termios before;
  tcgetattr(fd, &before);
  TypedInput input(fd, kKey);
  Type(fd, "ready");
  if (const TypedPiece line = input.Read(); line.bytes != "line\n") return 11;
  const TypedPiece last = input.Read();
  if (last.bytes != "half" || !last.detaches || last.ends) return 12;
  if (!input.Read().ends || !input.AwaitKey()) return 13;
  input.Restore();
  termios after;
  tcgetattr(fd, &after);
  return after.c_cc[VEOL] == before.c_cc[VEOL] ? 0 : 14;
}

TEST(TypedInputTest, TheKeyIsRecognisedInTheInputOfATerminal) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master) + unlockpt(master), 0);
  const pid_t child = fork();
  if (child == 0) _exit(OnTerminal(master));
  char ready[5];
  ASSERT_EQ(read(master, ready, sizeof ready), 5);
  Type(master, std::string("line\nhalf") + kKey + "\x04" + kKey);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(master);
}

}  // namespace
}  // namespace canopy::tools
