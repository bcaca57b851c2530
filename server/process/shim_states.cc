#include "server/process/shim_states.h"

#include <array>

namespace canopy::process {
namespace {

using Rule = CellRule<ShimState>;

constexpr Rule kNo = {Verdict::kRefuse};
constexpr Rule kOk = {Verdict::kAccept};
constexpr Rule kSkip = {Verdict::kIgnore};

constexpr Rule To(ShimState next) { return {Verdict::kAccept, true, next}; }

constexpr Rule kToPreparing = To(ShimState::kPreparing);
constexpr Rule kToPrepared = To(ShimState::kPrepared);
constexpr Rule kToStarting = To(ShimState::kStarting);
constexpr Rule kToStarted = To(ShimState::kStarted);
constexpr Rule kToFailed = To(ShimState::kFailed);
constexpr Rule kToReplaced = To(ShimState::kReplaced);
constexpr Rule kToForgotten = To(ShimState::kForgotten);
constexpr Rule kToLeft = To(ShimState::kLeft);

struct Row {
  ShimEvent event;
  std::string_view name;
  std::array<Rule, kShimStates> rules;
};

using E = ShimEvent;

// A frame that the shim does not send in a state is refused there. Frames are
// ignored if the shim has failed, if another agent serves it, or if it is
// ending. A start without a successful preparation is reported as failed.
//
// clang-format off
constexpr Row kTable[] = {
    //                                      greeting      new           preparing     prepared      starting      started       failed        replaced  forgotten left
    {E::kWelcome,       "Welcome",          {kOk,          kNo,          kNo,          kNo,          kNo,          kNo,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kHeld,          "Held",             {kOk,          kNo,          kNo,          kNo,          kNo,          kNo,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kPreparedFrame, "Prepared",         {kNo,          kNo,          kOk,          kNo,          kNo,          kNo,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kStartedFrame,  "Started",          {kNo,          kNo,          kNo,          kNo,          kToStarted,   kNo,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kOutput,        "Output",           {kNo,          kNo,          kNo,          kNo,          kOk,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kExits,         "Exits",            {kNo,          kNo,          kNo,          kNo,          kOk,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kInputDone,     "InputDone",        {kNo,          kNo,          kOk,          kOk,          kOk,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kResumed,       "Resumed",          {kNo,          kNo,          kNo,          kOk,          kOk,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kTextTaken,     "TextTaken",        {kNo,          kNo,          kNo,          kNo,          kOk,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kRestartedFrame, "Restarted",       {kNo,          kNo,          kNo,          kNo,          kNo,          kOk,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kReplacedFrame, "Replaced",         {kToReplaced,  kNo,          kToReplaced,  kToReplaced,  kToReplaced,  kToReplaced,  kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kUnknownFrame,  "another frame",    {kNo,          kNo,          kNo,          kNo,          kNo,          kNo,          kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kFoundPrepared, "*found prepared*", {kToPrepared,  kSkip,        kSkip,        kSkip,        kSkip,        kSkip,        kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kFoundStarted,  "*found started*",  {kToStarted,   kSkip,        kSkip,        kSkip,        kSkip,        kSkip,        kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kPrepared,      "*prepared*",       {kSkip,        kSkip,        kToPrepared,  kSkip,        kSkip,        kSkip,        kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kNotPrepared,   "*not prepared*",   {kSkip,        kSkip,        kToFailed,    kSkip,        kSkip,        kSkip,        kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kPrepare,       "*prepare*",        {kSkip,        kToPreparing, kSkip,        kSkip,        kSkip,        kSkip,        kSkip,        kSkip,    kSkip,    kSkip}},
    {E::kStart,         "*start*",          {kSkip,        kToFailed,    kToFailed,    kToStarting,  kSkip,        kSkip,        kOk,          kSkip,    kSkip,    kSkip}},
    {E::kForget,        "*forget*",         {kToForgotten, kToForgotten, kToForgotten, kToForgotten, kToForgotten, kToForgotten, kToForgotten, kToLeft,  kSkip,    kSkip}},
    {E::kLost,          "*lost*",           {kOk,          kSkip,        kToFailed,    kToFailed,    kToFailed,    kToFailed,    kOk,          kOk,      kOk,      kOk}},
};
// clang-format on

constexpr bool InOrder() {
  size_t next = 0;
  for (const Row& row : kTable) {
    if (static_cast<size_t>(row.event) != next++) return false;
  }
  return next == kShimEvents;
}
static_assert(InOrder());

}  // namespace

ShimEvent ShimEventOf(FrameType type) {
  switch (type) {
    case FrameType::kWelcome:
      return E::kWelcome;
    case FrameType::kHeld:
      return E::kHeld;
    case FrameType::kPrepared:
      return E::kPreparedFrame;
    case FrameType::kStarted:
      return E::kStartedFrame;
    case FrameType::kOutput:
      return E::kOutput;
    case FrameType::kExits:
      return E::kExits;
    case FrameType::kInputDone:
      return E::kInputDone;
    case FrameType::kResumed:
      return E::kResumed;
    case FrameType::kTextTaken:
      return E::kTextTaken;
    case FrameType::kRestarted:
      return E::kRestartedFrame;
    case FrameType::kReplaced:
      return E::kReplacedFrame;
    default:
      return E::kUnknownFrame;
  }
}

Cell<ShimState> StepOf(ShimState state, ShimEvent event) {
  const Row& row = kTable[static_cast<size_t>(event)];
  return row.rules[static_cast<size_t>(state)].In(state);
}

std::string_view NameOf(ShimState state) {
  constexpr std::string_view kNames[] = {
      "greeting", "new",    "preparing", "prepared",  "starting",
      "started",  "failed", "replaced",  "forgotten", "left"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view NameOf(ShimEvent event) {
  return kTable[static_cast<size_t>(event)].name;
}

}  // namespace canopy::process
