#include "server/local/frames.h"

#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/host_op.h"
#include "common/wire.h"

namespace canopy::local {
namespace {

constexpr size_t kMaxText = 64 << 10;
constexpr size_t kMaxNameOfDirective = kMaxKeyLen;
// A Proc takes at least a length and a rank.
constexpr size_t kMinProc = 2;
// A name needs many times more memory than bytes in the frame.
constexpr size_t kMaxProcs = 1 << 20;
constexpr size_t kMaxCodes = 1 << 16;
constexpr size_t kMaxKeys = 1 << 16;

Status Malformed(const char* what) {
  return Status(kErrUnpackFailure, std::string("malformed ") + what);
}

ProcId ReadProc(WireReader& r) {
  ProcId proc = r.Proc();
  if (proc.nspace.size() > kMaxNspaceLen) r.Fail();
  return proc;
}

std::vector<ProcId> ReadProcs(WireReader& r) {
  const size_t n = r.Count(kMinProc);
  if (n > kMaxProcs) {
    r.Fail();
    return {};
  }
  std::vector<ProcId> procs(n);
  for (ProcId& proc : procs) proc = ReadProc(r);
  return procs;
}

std::string ReadText(WireReader& r, size_t limit) {
  const std::string_view text = r.String();
  if (text.size() > limit) r.Fail();
  return std::string(text);
}

Bytes ReadPayload(WireReader& r) { return Bytes(std::string(r.String())); }

int ReadInt(WireReader& r) {
  const int64_t v = r.Int();
  if (v < INT_MIN || v > INT_MAX) r.Fail();
  return static_cast<int>(v);
}

// This data is forwarded to other nodes unread, so it is validated on arrival.
bool AreKvals(std::string_view bytes) {
  Decoder decoder(bytes);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.ok()) decoder.GetKval(&kval);
  return decoder.done();
}

Result<core::Input> ParseCommit(core::ClientId client, uint64_t tag,
                                std::string_view payload) {
  auto data = ParseCommitted(payload);
  if (!data.ok()) return data.status();
  return core::Input(core::Committed{client, tag, std::move(*data)});
}

Result<core::Input> ParseCollective(core::ClientId client, uint64_t tag,
                                    WireReader& r) {
  core::CollectiveArrived input;
  input.client = client;
  input.request = tag;
  const uint64_t op = r.Uint();
  if (op < static_cast<uint64_t>(core::CollectiveOp::kFence) ||
      op > static_cast<uint64_t>(core::CollectiveOp::kDisconnect)) {
    return Malformed("collective");
  }
  input.op = static_cast<core::CollectiveOp>(op);
  input.participants = ReadProcs(r);
  input.collect_data = r.Bool();
  input.timeout_ms = r.Uint32();
  input.info = ReadPayload(r);
  if (!r.done()) return Malformed("collective");
  return core::Input(std::move(input));
}

core::CollectiveOp ReadGroupOp(WireReader& r) {
  const auto op = static_cast<core::CollectiveOp>(r.Uint());
  if (!core::IsGroupOp(op)) r.Fail();
  return op;
}

std::string ReadGroupName(WireReader& r) {
  std::string name = ReadText(r, kMaxNspaceLen);
  if (name.empty()) r.Fail();
  return name;
}

Result<core::Input> ParseGroup(core::ClientId client, uint64_t tag,
                               WireReader& r) {
  core::CollectiveArrived input;
  input.client = client;
  input.request = tag;
  input.op = ReadGroupOp(r);
  input.name = ReadGroupName(r);
  input.participants = ReadProcs(r);
  input.timeout_ms = r.Uint32();
  input.info = ReadPayload(r);
  if (!r.done()) return Malformed("operation on a group");
  return core::Input(std::move(input));
}

Result<core::Input> ParseGroupCall(core::ClientId client, uint64_t tag,
                                   WireReader& r) {
  using Call = core::GroupCallArrived::Call;
  core::GroupCallArrived input;
  input.client = client;
  input.request = tag;
  const uint64_t call = r.Uint();
  if (call < static_cast<uint64_t>(Call::kInvite) ||
      call > static_cast<uint64_t>(Call::kLeave)) {
    r.Fail();
  }
  input.call = static_cast<Call>(call);
  input.name = ReadGroupName(r);
  input.procs = ReadProcs(r);
  input.accepts = r.Bool();
  input.timeout_ms = r.Uint32();
  input.info = ReadPayload(r);
  if (!r.done() || tag == 0) return Malformed("call about a group");
  return core::Input(std::move(input));
}

void ReadCounts(WireReader& r, bool of_groups, core::ClientReattached* input) {
  const size_t n = r.Count(3);
  if (n > kMaxCodes) r.Fail();
  for (size_t i = 0; i < n && r.ok(); ++i) {
    core::CollectiveCount count;
    if (of_groups) {
      count.op = ReadGroupOp(r);
      count.name = ReadGroupName(r);
    } else {
      count.op = static_cast<core::CollectiveOp>(r.Uint());
      if (count.op < core::CollectiveOp::kFence ||
          count.op > core::CollectiveOp::kDisconnect) {
        r.Fail();
      }
    }
    count.participants = ReadProcs(r);
    count.ended = r.Uint();
    input->counts.push_back(std::move(count));
  }
}

Result<core::Input> ParseResume(core::ClientId client, WireReader& r) {
  core::ClientReattached input{client, {}};
  ReadCounts(r, false, &input);
  if (r.ok() && !r.rest().empty()) ReadCounts(r, true, &input);
  if (!r.done()) return Malformed("resumption");
  return core::Input(std::move(input));
}

Result<core::Input> ParseGet(core::ClientId client, uint64_t tag,
                             WireReader& r) {
  core::GetArrived input;
  input.client = client;
  input.request = tag;
  input.target = ReadProc(r);
  input.key = ReadText(r, kMaxKeyLen);
  input.immediate = r.Bool();
  input.refresh = r.Bool();
  input.timeout_ms = r.Uint32();
  if (!r.done()) return Malformed("get");
  return core::Input(std::move(input));
}

Result<core::Input> ParseAbort(core::ClientId client, uint64_t tag,
                               WireReader& r) {
  core::AbortArrived input;
  input.client = client;
  input.request = tag;
  input.status = ReadInt(r);
  input.text = ReadText(r, kMaxText);
  input.targets = ReadProcs(r);
  if (!r.done()) return Malformed("abort");
  return core::Input(std::move(input));
}

Result<core::Input> ParseJobControl(core::ClientId client, uint64_t tag,
                                    WireReader& r) {
  core::HostCallArrived input;
  input.client = client;
  input.request = tag;
  input.targets = ReadProcs(r);
  input.call = ReadPayload(r);
  if (!r.done()) return Malformed("job control");
  return core::Input(std::move(input));
}

Result<core::Input> ParseHostCall(core::ClientId client, uint64_t tag,
                                  WireReader& r) {
  core::HostCallArrived input;
  input.client = client;
  input.request = tag;
  const uint64_t op = r.Uint();
  input.op = static_cast<HostOp>(op);
  const bool known = IsHostOp(input.op) || input.op == HostOp::kFabric;
  if (op > UINT8_MAX || !known) r.Fail();
  input.targets = ReadProcs(r);
  input.call = ReadPayload(r);
  if (!r.done() || tag == 0) return Malformed("call to the host");
  return core::Input(std::move(input));
}

std::vector<std::string> ReadKeys(WireReader& r) {
  const size_t n = r.Count();
  if (n > kMaxKeys) {
    r.Fail();
    return {};
  }
  std::vector<std::string> keys(n);
  for (std::string& key : keys) {
    key = ReadText(r, kMaxKeyLen);
    if (key.empty()) r.Fail();
  }
  return keys;
}

// These four requests are identified by their tags when they are resent, so a
// tag is required.

Result<core::Input> ParsePublish(core::ClientId client, uint64_t tag,
                                 WireReader& r) {
  core::PublishArrived input{client, tag, ReadPayload(r)};
  if (!r.done() || tag == 0) return Malformed("publish");
  return core::Input(std::move(input));
}

Result<core::Input> ParseLookup(core::ClientId client, uint64_t tag,
                                WireReader& r) {
  core::LookupArrived input;
  input.client = client;
  input.request = tag;
  input.keys = ReadKeys(r);
  input.info = ReadPayload(r);
  if (!r.done() || tag == 0 || input.keys.empty()) return Malformed("lookup");
  return core::Input(std::move(input));
}

Result<core::Input> ParseUnpublish(core::ClientId client, uint64_t tag,
                                   WireReader& r) {
  core::UnpublishArrived input;
  input.client = client;
  input.request = tag;
  input.keys = ReadKeys(r);
  input.info = ReadPayload(r);
  if (!r.done() || tag == 0) return Malformed("unpublish");
  return core::Input(std::move(input));
}

Result<core::Input> ParseSpawn(core::ClientId client, uint64_t tag,
                               WireReader& r) {
  core::SpawnArrived input{client, tag, ReadPayload(r)};
  if (!r.done() || tag == 0) return Malformed("spawn");
  return core::Input(std::move(input));
}

Result<core::Input> ParseQuery(core::ClientId client, uint64_t tag,
                               WireReader& r) {
  core::QueryArrived input{client, tag, ReadPayload(r)};
  if (!r.done() || tag == 0) return Malformed("query");
  return core::Input(std::move(input));
}

std::vector<int> ReadCodes(WireReader& r) {
  const size_t n = r.Count();
  if (n > kMaxCodes) {
    r.Fail();
    return {};
  }
  std::vector<int> codes(n);
  for (int& code : codes) code = ReadInt(r);
  return codes;
}

Result<core::Input> ParseWanted(core::ClientId client, uint64_t tag,
                                WireReader& r) {
  core::EventsWanted input{client, tag, r.Bool(), {}};
  input.codes = ReadCodes(r);
  if (!r.done()) return Malformed("event registration");
  return core::Input(std::move(input));
}

Result<core::Input> ParseUnwanted(core::ClientId client, WireReader& r) {
  core::EventsUnwanted input{client, r.Bool(), {}};
  input.codes = ReadCodes(r);
  if (!r.done()) return Malformed("event deregistration");
  return core::Input(std::move(input));
}

Result<core::Input> ParseNotify(core::ClientId client, const ProcId& self,
                                uint64_t tag, WireReader& r) {
  core::EventRaised input;
  input.client = client;
  input.request = tag;
  input.status = ReadInt(r);
  input.source = self;
  const uint64_t range = r.Uint();
  input.range = static_cast<uint8_t>(range);
  input.targets = ReadProcs(r);
  input.info = ReadPayload(r);
  if (!r.done() || range > UINT8_MAX) return Malformed("event");
  return core::Input(std::move(input));
}

std::string Frame(FrameType type, uint64_t tag, std::string_view payload,
                  uint64_t bytes_that_follow = 0) {
  FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size() + bytes_that_follow);
  header.type = static_cast<uint16_t>(type);
  header.tag = tag;
  std::string frame(sizeof header, '\0');
  std::memcpy(frame.data(), &header, sizeof header);
  frame.append(payload);
  return frame;
}

}  // namespace

Result<Hello> ParseHello(std::string_view payload) {
  WireReader r(payload);
  Hello hello;
  hello.version = r.Uint();
  hello.claimed = ReadProc(r);
  hello.token = ReadText(r, 256);
  hello.library = ReadText(r, 256);
  // A newer client may append fields.
  if (!r.ok()) return Malformed("hello");
  return hello;
}

Result<ToolHello> ParseToolHello(std::string_view payload) {
  WireReader r(payload);
  ToolHello hello;
  hello.version = r.Uint();
  hello.claimed = ReadProc(r);
  ReadText(r, 256);  // the library's version
  if (!r.ok()) return Malformed("hello of a tool");
  return hello;
}

Result<IgnoredDirective> ParseIgnored(std::string_view payload) {
  WireReader r(payload);
  IgnoredDirective directive;
  directive.function = ReadText(r, kMaxNameOfDirective);
  directive.key = ReadText(r, kMaxNameOfDirective);
  if (!r.done()) return Malformed("ignored directive");
  return directive;
}

Result<std::vector<core::ScopedData>> ParseCommitted(std::string_view payload) {
  WireReader r(payload);
  std::vector<core::ScopedData> data;
  const size_t n = r.Count(2);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t scope = r.Uint();
    const std::string_view kvals = r.String();
    if (!r.ok() || scope < 1 || scope > 3 || !AreKvals(kvals)) {
      return Malformed("commit");
    }
    data.push_back(
        {static_cast<core::Scope>(scope), Bytes(std::string(kvals))});
  }
  if (!r.done()) return Malformed("commit");
  return data;
}

Result<core::Input> ParseRequest(core::ClientId client, const ProcId& self,
                                 const FrameHeader& header,
                                 std::string_view payload) {
  WireReader r(payload);
  switch (static_cast<FrameType>(header.type)) {
    case FrameType::kCommit:
      return ParseCommit(client, header.tag, payload);
    case FrameType::kCollective:
      return ParseCollective(client, header.tag, r);
    case FrameType::kGroup:
      return ParseGroup(client, header.tag, r);
    case FrameType::kGroupCall:
      return ParseGroupCall(client, header.tag, r);
    case FrameType::kGet:
      return ParseGet(client, header.tag, r);
    case FrameType::kAbort:
      return ParseAbort(client, header.tag, r);
    case FrameType::kJobControl:
      return ParseJobControl(client, header.tag, r);
    case FrameType::kHostCall:
      return ParseHostCall(client, header.tag, r);
    case FrameType::kPublish:
      return ParsePublish(client, header.tag, r);
    case FrameType::kLookup:
      return ParseLookup(client, header.tag, r);
    case FrameType::kUnpublish:
      return ParseUnpublish(client, header.tag, r);
    case FrameType::kSpawn:
      return ParseSpawn(client, header.tag, r);
    case FrameType::kQuery:
      return ParseQuery(client, header.tag, r);
    case FrameType::kFinalize:
      return core::Input(core::FinalizeArrived{client, header.tag});
    case FrameType::kEventsWanted:
      return ParseWanted(client, header.tag, r);
    case FrameType::kEventsUnwanted:
      return ParseUnwanted(client, r);
    case FrameType::kReattach:
      return ParseResume(client, r);
    case FrameType::kNotify:
      return ParseNotify(client, self, header.tag, r);
    default:
      return Status(kErrNotSupported, "unknown request");
  }
}

std::string MakeHelloReply(uint64_t tag, const ProcId& self,
                           const ProcId& server, uint64_t segment_size,
                           const BarrierOffer& barrier,
                           const ReattachOffer& reattach,
                           const MailboxOffer& mailboxes) {
  WireWriter w;
  w.Proc(self);
  w.Proc(server);
  w.Uint(segment_size);
  if (barrier.size > 0 || reattach.epoch != 0) {
    w.Uint(barrier.size);
    w.Uint(barrier.index);
  }
  if (reattach.epoch != 0) {
    w.Uint(reattach.reattach_ms);
    w.Uint(reattach.epoch);
  }
  if (mailboxes.understood) w.Uint(mailboxes.size);
  return MakeReply(tag, kSuccess, w.str());
}

std::string MakeReplyHead(uint64_t tag, int status, uint64_t payload_size) {
  WireWriter w;
  w.Int(status);
  w.Uint(payload_size);
  return Frame(FrameType::kReply, tag, w.str(), payload_size);
}

std::string MakeReply(uint64_t tag, int status, std::string_view payload) {
  std::string frame = MakeReplyHead(tag, status, payload.size());
  frame.append(payload);
  return frame;
}

std::string MakeEvent(const core::ClientEvent& event) {
  WireWriter w;
  w.Int(event.status);
  w.Proc(event.source);
  w.Uint(event.range);
  w.String(event.info.view());
  w.Proc(event.id.raiser);
  w.Uint(event.id.number);
  return Frame(FrameType::kEvent, 0, w.str());
}

std::string MakeHandover(uint32_t reattach_ms) {
  WireWriter w;
  w.Uint(reattach_ms);
  return Frame(FrameType::kHandover, 0, w.str());
}

std::string MakeSegment(const std::string& nspace, uint64_t segment_size) {
  WireWriter w;
  w.String(nspace);
  w.Uint(segment_size);
  return Frame(FrameType::kSegment, 0, w.str());
}

std::string MakeSegmentCopy(const std::string& nspace, uint64_t segment_size,
                            std::string_view content) {
  WireWriter w;
  w.String(nspace);
  w.Uint(segment_size);
  w.String(content);
  return Frame(FrameType::kSegment, 0, w.str());
}

}  // namespace canopy::local
