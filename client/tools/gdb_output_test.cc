#include "client/tools/gdb_output.h"

#include <gtest/gtest.h>

namespace canopy::tools {
namespace {

using Frames = std::vector<std::string>;

TEST(GdbOutputTest, FramesAreReducedToFunctionAndPlace) {
  EXPECT_EQ(ParseFrame("#0  __libc_pause () at pause.c:29"),
            "__libc_pause at pause.c:29");
  EXPECT_EQ(ParseFrame("#12 0x000055ddd188c16a in w (a=...) at ../src/t.c:4"),
            "w at t.c:4");
  EXPECT_EQ(ParseFrame("#1  0x00007f4d in poll () from /lib/x86/libc.so.6"),
            "poll from libc.so.6");
  EXPECT_EQ(ParseFrame("#2  0x00007f4d in ?? ()"), "??");
  EXPECT_EQ(ParseFrame("#3  0x1 in ns::(anonymous namespace)::F(int) (x=...)"
                       " at a.cc:7"),
            "ns::(anonymous namespace)::F(int) at a.cc:7");
  EXPECT_EQ(ParseFrame("29\tpause.c: No such file"), "");
  EXPECT_EQ(ParseFrame("#"), "");
  EXPECT_EQ(ParseFrame("#0 0x12"), "");
}

constexpr char kOutput[] =
    "[New LWP 26034]\n"
    "0x00007f4d7c4c6df2 in __libc_pause () at pause.c:29\n"
    "#0  0x00007f4d7c4c6df2 in __libc_pause () at pause.c:29\n"
    "\n"
    "Thread 2.2 (Thread 0x7f35 (LWP 26034) \"t\"):\n"
    "#0  __libc_pause () at pause.c:29\n"
    "#1  0x5562 in w (a=...) at t.c:4\n"
    "\n"
    "Thread 2.1 (Thread 0x7f36 (LWP 26033) \"t\"):\n"
    "#0  __libc_pause () at pause.c:29\n"
    "#1  0x5562 in inner (n=...) at t.c:5\n"
    "#2  0x5563 in main (c=..., v=...) at t.c:6\n"
    "[Inferior 1 (process 26033) detached]\n";

TEST(GdbOutputTest, StacksOfAllThreadsAreParsed) {
  const std::vector<ThreadStack> stacks = ParseStacks(kOutput);
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].lwp, 26034);
  EXPECT_EQ(stacks[0].frames,
            (Frames{"w at t.c:4", "__libc_pause at pause.c:29"}));
  EXPECT_EQ(stacks[1].lwp, 26033);
  EXPECT_EQ(stacks[1].frames, (Frames{"main at t.c:6", "inner at t.c:5",
                                      "__libc_pause at pause.c:29"}));
}

TEST(GdbOutputTest, AProcessWithoutThreadsHasOneStack) {
  const std::vector<ThreadStack> stacks =
      ParseStacks("Thread 1 (process 17):\n#0  0x1 in _start ()");
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].lwp, 17);
  EXPECT_EQ(stacks[0].frames, Frames{"_start"});
}

TEST(GdbOutputTest, EachErrorMessageOfGdbIsReturnedOnce) {
  EXPECT_EQ(Complaints("ptrace: Operation not permitted.\nx\n"
                       "ptrace: Operation not permitted.\n"),
            Frames{"ptrace: Operation not permitted."});
  EXPECT_TRUE(Complaints(kOutput).empty());
}

}  // namespace
}  // namespace canopy::tools
