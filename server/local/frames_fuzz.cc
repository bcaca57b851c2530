// Fuzz target: frames of the local protocol, as the agent and its clients
// decode them. The first byte is the type of the frame.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec/encoder.h"
#include "common/local/calls.h"
#include "common/local/collectives.h"
#include "common/local/data.h"
#include "common/local/events.h"
#include "common/local/greeting.h"
#include "common/local/reply.h"
#include "server/local/frames.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::local {
namespace {

template <typename M>
std::string Frame(FrameType type, const M& payload) {
  return static_cast<char>(type) + wire::Encode(payload);
}

std::string Empty(FrameType type) { return {static_cast<char>(type)}; }

std::string Infos() {
  Encoder infos;
  infos.PutSize(1);
  infos.PutString("key");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_STRING);
  infos.PutString("value");
  return infos.Take();
}

std::string Kval() {
  Encoder kval;
  kval.PutString("key");
  kval.PutUint16(PMIX_STRING);
  kval.PutString("value");
  return kval.Take();
}

std::vector<std::string> Requests() {
  const std::string infos = Infos();
  const std::string kval = Kval();
  const std::vector<ProcView> procs = {{"job", kRankWildcard}, {"job", 2}};
  const Series fence = {CollectiveOp::kFence, {}, procs};
  const Series group = {CollectiveOp::kGroupConstruct, "group", procs};
  const Subscription codes = {false, {-5, -200}};
  const Keys keys = {{"key", "another"}, infos};
  return {
      Frame(FrameType::kCommit, Commit{{{3, kval}, {1, kval}}}),
      Frame(FrameType::kCollective, Collective{fence, true, 1000, infos}),
      Frame(FrameType::kCollective, Collective{group, false, 1000, infos}),
      Frame(FrameType::kGroupCall,
            GroupCall{GroupStep::kJoin, "group", procs, true, 1000, infos}),
      Frame(FrameType::kGet, Get{{"job", 2}, "key", false, true, 1000}),
      Frame(FrameType::kAbort, Abort{-1, "why", procs}),
      Empty(FrameType::kFinalize),
      Frame(FrameType::kEventsWanted, codes),
      Frame(FrameType::kEventsUnwanted, codes),
      Frame(FrameType::kNotify, Notify{-5, 3, procs, infos}),
      Frame(FrameType::kHostCall, HostCall{HostOp::kLog, procs, infos}),
      Frame(FrameType::kPublish, Publish{infos}),
      Frame(FrameType::kLookup, keys),
      Frame(FrameType::kUnpublish, keys),
      Frame(FrameType::kSpawn, Spawn{infos}),
      Frame(FrameType::kQuery, Query{infos}),
      Frame(FrameType::kReattach, Reattach{{{fence, 3}, {group, 1}}}),
      Frame(FrameType::kIgnored, Ignored{"PMIx_Get", "pmix.unknown"}),
      Empty(FrameType::kBarrierFull),
      Empty(FrameType::kCommitted),
  };
}

// Returns the requests of a client, its hello, and the frames that it receives.
std::vector<std::string> Frames() {
  const std::string infos = Infos();
  std::vector<std::string> frames = Requests();
  const Hello hello = {kProtocolVersion,
                       {"job", 1},
                       "0123456789abcdef0123456789abcdef",
                       "library"};
  frames.push_back(Frame(FrameType::kHello, hello));
  frames.push_back(Frame(FrameType::kReply, Reply{-1, "payload"}));
  frames.push_back(Frame(FrameType::kReply,
                         Welcome{{"job", 1}, {"agent", 0}, 1, 2, 3, 4, 5, 6}));
  frames.push_back(
      Frame(FrameType::kEvent, Event{-5, {"job", 1}, 3, infos, {"job", 2}, 7}));
  frames.push_back(Frame(FrameType::kSegment,
                         Segment{"job", 4096, 8192, {{0, "a"}, {4096, "b"}}}));
  frames.push_back(Frame(FrameType::kHandover, Handover{1000}));
  return frames;
}

// If the bytes decode, the message is encoded as bytes that decode to the same
// message.
template <typename M>
void Decode(std::string_view payload) {
  M message;
  if (!wire::Decode(payload, &message)) return;
  const std::string once = wire::Encode(message);
  M again;
  if (!wire::Decode(once, &again) || wire::Encode(again) != once) abort();
}

void Parse(const uint8_t* data, size_t size) {
  const std::string_view payload(reinterpret_cast<const char*>(data + 1),
                                 size - 1);
  FrameHeader header;
  header.type = data[0];
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = 1;
  Decode<Hello>(payload);
  Decode<Welcome>(payload);
  Decode<Collective>(payload);
  Decode<Commit>(payload);
  Decode<Get>(payload);
  Decode<Notify>(payload);
  Decode<Event>(payload);
  Decode<Segment>(payload);
  Decode<Ignored>(payload);
  Decode<Reply>(payload);
  (void)ParseRequest(1, {"job", 0}, header, payload);
}

}  // namespace
}  // namespace canopy::local

std::vector<std::string> canopy::fuzz::Seeds() {
  return canopy::local::Frames();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) canopy::local::Parse(data, size);
  return 0;
}
