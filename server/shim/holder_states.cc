#include "server/shim/holder_states.h"

#include <array>

namespace canopy::process {
namespace {

using Rule = CellRule<HolderState>;

constexpr Rule kNo = {Verdict::kRefuse};
constexpr Rule kOk = {Verdict::kAccept};
constexpr Rule kSkip = {Verdict::kIgnore};

constexpr Rule To(HolderState next) { return {Verdict::kAccept, true, next}; }

constexpr Rule kToDescribed = To(HolderState::kDescribed);
constexpr Rule kToChecked = To(HolderState::kChecked);
constexpr Rule kToStarted = To(HolderState::kStarted);
constexpr Rule kToEnding = To(HolderState::kEnding);
constexpr Rule kToForcing = To(HolderState::kForcing);

struct Row {
  HolderEvent event;
  std::string_view name;
  std::array<Rule, kHolderStates> rules;
};

using E = HolderEvent;

// Once a shim has begun to end, it ignores all requests of agents. An internal
// event that cannot occur in a state is ignored there.
//
// clang-format off
constexpr Row kTable[] = {
    //                               empty         described   checked     started    ending       forcing
    {E::kHello,        "Hello",      {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kPrepare,      "Prepare",    {kToDescribed, kNo,       kNo,        kNo,       kSkip,       kSkip}},
    {E::kRanks,        "Ranks",      {kNo,         kOk,        kNo,        kNo,       kSkip,       kSkip}},
    {E::kCheck,        "Check",      {kNo,         kOk,        kNo,        kNo,       kSkip,       kSkip}},
    {E::kStart,        "Start",      {kNo,         kNo,        kToStarted, kNo,       kSkip,       kSkip}},
    {E::kResume,       "Resume",     {kNo,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kSignal,       "Signal",     {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kKill,         "Kill",       {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kInput,        "Input",      {kNo,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kCredit,       "Credit",     {kNo,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kText,         "Text",       {kNo,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kRestart,      "Restart",    {kNo,         kNo,        kNo,        kOk,       kSkip,       kSkip}},
    {E::kHold,         "Hold",       {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kHoldMany,     "HoldMany",   {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kRelease,      "Release",    {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kOrphan,       "Orphan",     {kOk,         kOk,        kOk,        kOk,       kSkip,       kSkip}},
    {E::kForget,       "Forget",     {kToEnding,   kToEnding,  kToEnding,  kToEnding, kSkip,       kSkip}},
    {E::kUnknownFrame, "another frame", {kNo,      kNo,        kNo,        kNo,       kSkip,       kSkip}},
    {E::kCheckPassed,  "*check passed*", {kSkip,   kToChecked, kSkip,      kSkip,     kSkip,       kSkip}},
    {E::kOrphaned,     "*orphaned*", {kToEnding,   kToEnding,  kToEnding,  kToEnding, kSkip,       kSkip}},
    {E::kTerminated,   "*terminated*", {kToEnding, kToEnding,  kToEnding,  kToEnding, kSkip,       kSkip}},
    {E::kGraceOver,    "*grace over*", {kSkip,     kSkip,      kSkip,      kSkip,     kToForcing,  kSkip}},
};
// clang-format on

constexpr bool InOrder() {
  size_t next = 0;
  for (const Row& row : kTable) {
    if (static_cast<size_t>(row.event) != next++) return false;
  }
  return next == kHolderEvents;
}
static_assert(InOrder());

}  // namespace

HolderEvent HolderEventOf(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return E::kHello;
    case FrameType::kPrepare:
      return E::kPrepare;
    case FrameType::kRanks:
      return E::kRanks;
    case FrameType::kCheck:
      return E::kCheck;
    case FrameType::kStart:
      return E::kStart;
    case FrameType::kResume:
      return E::kResume;
    case FrameType::kSignal:
      return E::kSignal;
    case FrameType::kKill:
      return E::kKill;
    case FrameType::kInput:
      return E::kInput;
    case FrameType::kCredit:
      return E::kCredit;
    case FrameType::kText:
      return E::kText;
    case FrameType::kRestart:
      return E::kRestart;
    case FrameType::kHold:
      return E::kHold;
    case FrameType::kHoldMany:
      return E::kHoldMany;
    case FrameType::kRelease:
      return E::kRelease;
    case FrameType::kOrphan:
      return E::kOrphan;
    case FrameType::kForget:
      return E::kForget;
    default:
      return E::kUnknownFrame;
  }
}

Cell<HolderState> StepOf(HolderState state, HolderEvent event) {
  const Row& row = kTable[static_cast<size_t>(event)];
  return row.rules[static_cast<size_t>(state)].In(state);
}

std::string_view NameOf(HolderState state) {
  constexpr std::string_view kNames[] = {"empty",   "described", "checked",
                                         "started", "ending",    "forcing"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view NameOf(HolderEvent event) {
  return kTable[static_cast<size_t>(event)].name;
}

}  // namespace canopy::process
