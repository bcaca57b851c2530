#include "server/core/event/lifecycle.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "common/status.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/event_info.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

constexpr int kExited = 3 << 8;  // exited with code 3, as waitpid reports it

TEST(Lifecycle, EachKindOfEndOfAProcessHasItsCode) {
  EXPECT_EQ(CodeOfEnd({0, 0}, false), 0);
  EXPECT_EQ(CodeOfEnd({0, 0}, true), 0);
  EXPECT_EQ(CodeOfEnd({0, SIGSEGV}, false), kErrProcAbortedBySig);
  EXPECT_EQ(CodeOfEnd({0, SIGTERM}, true), kErrProcKilledByCmd);
  EXPECT_EQ(CodeOfEnd({0, kExited}, false), kErrExitNonzeroTerm);
  EXPECT_EQ(CodeOfEnd({0, kExited}, true), kErrProcKilledByCmd);
  EXPECT_EQ(CodeOfEnd({0, kNeverStarted}, true), kErrProcFailedToStart);
}

TEST(Lifecycle, EachKindOfEndOfAJobHasItsCode) {
  EXPECT_EQ(CodeOfJobEnd(kSuccess), 0);
  EXPECT_EQ(CodeOfJobEnd(kErrProcTermWoSync), kErrJobTermWoSync);
  EXPECT_EQ(CodeOfJobEnd(kErrNodeDown), kErrJobAbortedBySysEvent);
  EXPECT_EQ(CodeOfJobEnd(kErrTimeout), kErrJobKilledByCmd);
  EXPECT_EQ(CodeOfJobEnd(kErrJobNonZeroTerm), kErrJobNonZeroTerm);
  EXPECT_EQ(CodeOfJobEnd(kErrJobExeNotFound), 0);
}

EventMessage MessageOf(const EventRaised& raised) {
  EventMessage message;
  message.request = raised.id;
  message.status = raised.status;
  message.source = raised.source;
  message.info = raised.info;
  return message;
}

TEST(Lifecycle, OnlyLifecycleEventsOfAgentsNeedARegistrationForTheirCode) {
  const EventRaised raised =
      ProcLifecycleEvent({"job", 1}, 0, kEventProcTerminated, nullptr, {});
  EventMessage message = MessageOf(raised);
  EXPECT_TRUE(IsForItsCodeAlone(message));
  message.info = AffectedProcInfo({"job", 1}, nullptr);
  EXPECT_FALSE(IsForItsCodeAlone(message));
  message = MessageOf(raised);
  message.request &= ~kAgentsEvent;
  EXPECT_FALSE(IsForItsCodeAlone(message));
  message = MessageOf(raised);
  message.status = kErrProcAborted;
  EXPECT_FALSE(IsForItsCodeAlone(message));
}

TEST(Lifecycle, EveryEventHasAnIdOfItsOwn) {
  const std::set<uint64_t> ids = {IdOfProcEvent(0, ProcEvent::kTerminated),
                                  IdOfProcEvent(0, ProcEvent::kCode),
                                  IdOfProcEvent(0, ProcEvent::kTerminatedAsked),
                                  IdOfProcEvent(0, ProcEvent::kToParentJob),
                                  IdOfProcEvent(1, ProcEvent::kTerminated),
                                  IdOfJobEvent(kEventJobEnd, false),
                                  IdOfJobEvent(kEventJobEnd, true),
                                  IdOfJobEvent(kEventJobStart, false),
                                  IdOfLoss(0),
                                  IdOfLoss(1)};
  EXPECT_EQ(ids.size(), 10u);
}

TEST(Lifecycle, LossAndLeaveOfANodeHaveDifferentCodesAndIds) {
  const EventMessage lost =
      MessageOf(NodeLifecycleEvent({"agents", 3}, "n3", 7, false));
  const EventMessage left =
      MessageOf(NodeLifecycleEvent({"agents", 3}, "n3", 8, true));
  EXPECT_EQ(lost.status, kEventNodeDown);
  EXPECT_EQ(left.status, kEventNodeOffline);
  EXPECT_NE(IdOf(lost), IdOf(left));
  EXPECT_TRUE(IsLoss(lost) && IsForItsCodeAlone(lost));
  EXPECT_FALSE(
      IsLoss(MessageOf(JobLifecycleEvent("job", kEventJobEnd, {}, {}))));
}

}  // namespace
}  // namespace canopy::core
