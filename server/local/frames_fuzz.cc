// Fuzz target: the agent's parsing of a client's frame. The first byte is the
// type of the frame.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec/encoder.h"
#include "common/wire.h"
#include "server/local/frames.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::local {
namespace {

std::string Frame(FrameType type, WireWriter payload) {
  return static_cast<char>(type) + payload.Take();
}

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

std::string HelloFrame() {
  WireWriter w;
  w.Uint(kProtocolVersion);
  w.Proc({"job", 1});
  w.String("0123456789abcdef0123456789abcdef");
  w.String("library");
  return Frame(FrameType::kHello, std::move(w));
}

std::string CommitFrame() {
  WireWriter w;
  w.Uint(1);
  w.Uint(3);
  w.String(Kval());
  return Frame(FrameType::kCommit, std::move(w));
}

std::string CollectiveFrame() {
  WireWriter w;
  w.Uint(0);
  w.Uint(1);
  w.Proc({"job", kRankWildcard});
  w.Bool(true);
  w.Uint(1000);
  w.String(Infos());
  return Frame(FrameType::kCollective, std::move(w));
}

std::string GroupFrame() {
  WireWriter w;
  w.Uint(4);
  w.String("group");
  w.Uint(1);
  w.Proc({"job", kRankWildcard});
  w.Uint(1000);
  w.String(Infos());
  return Frame(FrameType::kGroup, std::move(w));
}

std::string GroupCallFrame() {
  WireWriter w;
  w.Uint(2);
  w.String("group");
  w.Uint(1);
  w.Proc({"job", 1});
  w.Bool(true);
  w.Uint(1000);
  w.String(Infos());
  return Frame(FrameType::kGroupCall, std::move(w));
}

std::string GetFrame() {
  WireWriter w;
  w.Proc({"job", 2});
  w.String("key");
  w.Bool(false);
  w.Bool(true);
  w.Uint(1000);
  return Frame(FrameType::kGet, std::move(w));
}

std::string AbortFrame() {
  WireWriter w;
  w.Int(-1);
  w.String("why");
  w.Uint(1);
  w.Proc({"job", 2});
  return Frame(FrameType::kAbort, std::move(w));
}

std::string EventsFrame(FrameType type) {
  WireWriter w;
  w.Bool(false);
  w.Uint(2);
  w.Int(-5);
  w.Int(-200);
  return Frame(type, std::move(w));
}

std::string NotifyFrame() {
  WireWriter w;
  w.Int(-5);
  w.Uint(3);
  w.Uint(1);
  w.Proc({"job", 2});
  w.String(Infos());
  return Frame(FrameType::kNotify, std::move(w));
}

std::string JobControlFrame() {
  WireWriter w;
  w.Uint(1);
  w.Proc({"job", 2});
  w.String(Infos());
  return Frame(FrameType::kJobControl, std::move(w));
}

std::string HostCallFrame() {
  WireWriter w;
  w.Uint(4);
  w.Uint(1);
  w.Proc({"job", 2});
  w.String(Infos());
  return Frame(FrameType::kHostCall, std::move(w));
}

// The payload of a publish or a spawn, which the agent forwards unread.
std::string OpaqueFrame(FrameType type) {
  WireWriter w;
  w.String(Infos());
  return Frame(type, std::move(w));
}

std::string KeysFrame(FrameType type) {
  WireWriter w;
  w.Strings({"key", "another"});
  w.String(Infos());
  return Frame(type, std::move(w));
}

std::string IgnoredFrame() {
  WireWriter w;
  w.String("PMIx_Get");
  w.String("pmix.unknown");
  return Frame(FrameType::kIgnored, std::move(w));
}

std::vector<std::string> Frames() {
  return {HelloFrame(),
          CommitFrame(),
          CollectiveFrame(),
          GroupFrame(),
          GroupCallFrame(),
          GetFrame(),
          AbortFrame(),
          std::string(1, static_cast<char>(FrameType::kFinalize)),
          EventsFrame(FrameType::kEventsWanted),
          EventsFrame(FrameType::kEventsUnwanted),
          NotifyFrame(),
          JobControlFrame(),
          HostCallFrame(),
          OpaqueFrame(FrameType::kPublish),
          KeysFrame(FrameType::kLookup),
          KeysFrame(FrameType::kUnpublish),
          OpaqueFrame(FrameType::kSpawn),
          OpaqueFrame(FrameType::kQuery),
          IgnoredFrame(),
          std::string(1, static_cast<char>(FrameType::kBarrierFull)),
          std::string(1, static_cast<char>(FrameType::kCommitted))};
}

void Parse(const uint8_t* data, size_t size) {
  const std::string_view payload(reinterpret_cast<const char*>(data + 1),
                                 size - 1);
  FrameHeader header;
  header.type = data[0];
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = 1;
  (void)ParseHello(payload);
  (void)ParseToolHello(payload);
  (void)ParseIgnored(payload);
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
