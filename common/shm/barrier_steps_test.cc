// Kills a participant at each instruction of its arrival.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "common/shm/barrier_participant.h"
#include "common/shm/barrier_server.h"

namespace canopy::shm {
namespace {

// Far more instructions than an arrival has.
constexpr int kMaxSteps = 200000;

// Starts a process that stops, and arrives at the barrier as rank 0 when it is
// continued. Returns -1 if the process does not stop.
pid_t StartRank0(const BarrierServer& server) {
  const pid_t child = fork();
  if (child != 0) {
    int how = 0;
    waitpid(child, &how, 0);
    return WIFSTOPPED(how) ? child : -1;
  }
  auto rank = BarrierParticipant::Map(server.fd(), server.size(), 0);
  BarrierParticipant::Ticket ticket;
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  kill(getpid(), SIGSTOP);
  (*rank)->Arrive(0, &ticket);
  _exit(0);
}

// Returns false if the process has ended by itself.
bool Step(pid_t child) {
  int how = 0;
  return ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 &&
         waitpid(child, &how, 0) == child && WIFSTOPPED(how);
}

void Kill(pid_t child) {
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

enum Phase { kNotArrived, kArrived, kReleased, kUnclear };

// Rank 1 has arrived and waits. Rank 0 is killed after `steps` instructions.
// Returns how far rank 0 has come, according to the agent and to rank 1.
Phase KillAfter(int steps, bool* ended) {
  auto server = *BarrierServer::Create(2, true);
  server->Open();
  auto other = *BarrierParticipant::Map(server->fd(), server->size(), 1);
  BarrierParticipant::Ticket ticket;
  EXPECT_EQ(other->Arrive(0, &ticket), BarrierParticipant::Arrival::kWait);
  const pid_t child = StartRank0(*server);
  if (child < 0) return kUnclear;
  *ended = false;
  for (int i = 0; i < steps && !*ended; ++i) *ended = !Step(child);
  Kill(child);
  int status = -1;
  const bool through = other->Wait(ticket, 0, &status);
  const std::vector<uint32_t> arrived = server->Close().ranks;
  if (through)
    return status == kSuccess && arrived.empty() ? kReleased : kUnclear;
  server->Release(kErrTimeout);
  if (!other->Wait(ticket, 0, &status) || status != kErrTimeout)
    return kUnclear;
  if (arrived == std::vector<uint32_t>{0, 1}) return kArrived;
  return arrived == std::vector<uint32_t>{1} ? kNotArrived : kUnclear;
}

TEST(BarrierSteps, ARankMayBeKilledAtAnyInstruction) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "instrumented code has too many instructions";
#endif
  bool ended = false;
  if (KillAfter(1, &ended) == kUnclear) GTEST_SKIP() << "ptrace is not allowed";
  Phase last = kNotArrived;
  bool seen[kUnclear] = {};
  for (int steps = 1; !ended; ++steps) {
    ASSERT_LT(steps, kMaxSteps);
    const Phase phase = KillAfter(steps, &ended);
    ASSERT_NE(phase, kUnclear) << "after " << steps << " instructions";
    ASSERT_GE(phase, last) << "after " << steps << " instructions";
    last = phase;
    seen[phase] = true;
  }
  EXPECT_EQ(std::ranges::count(seen, true), 3);
}

}  // namespace
}  // namespace canopy::shm
