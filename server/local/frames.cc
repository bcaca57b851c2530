#include "server/local/frames.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/host_op.h"
#include "common/local/calls.h"
#include "common/local/collectives.h"
#include "common/local/data.h"
#include "common/local/events.h"
#include "common/local/reply.h"

namespace canopy::local {
namespace {

static_assert(static_cast<int>(core::CollectiveOp::kFence) ==
              static_cast<int>(CollectiveOp::kFence));
static_assert(static_cast<int>(core::CollectiveOp::kGroupDestruct) ==
              static_cast<int>(CollectiveOp::kGroupDestruct));
static_assert(static_cast<int>(core::GroupCallArrived::Call::kLeave) ==
              static_cast<int>(GroupStep::kLeave));

using Parsed = Result<core::Input>;

// The header and the payload of a request.
struct Request {
  core::ClientId client;
  uint64_t tag;
  std::string_view payload;
  size_t max_names;
};

Status Malformed(const char* what) {
  return Status(kErrUnpackFailure, std::string("malformed ") + what);
}

Status TooManyNames() {
  return Status(kErrOutOfResource, "names too many processes");
}

template <typename M>
bool Read(const Request& request, M* message) {
  return wire::Decode(request.payload, message);
}

std::vector<ProcId> OwnersOf(const std::vector<ProcView>& procs) {
  std::vector<ProcId> owners;
  owners.reserve(procs.size());
  for (const ProcView& proc : procs) owners.push_back(OwnerOf(proc));
  return owners;
}

Bytes Copy(std::string_view bytes) { return Bytes(std::string(bytes)); }

// Returns true if the bytes are KVALs. This data is forwarded to other nodes
// unread, so it is validated on arrival.
bool AreKvals(std::string_view bytes) {
  Decoder decoder(bytes);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.ok()) decoder.GetKval(&kval);
  return decoder.done();
}

bool IsValid(const ScopedKvals& data) {
  return data.scope >= static_cast<uint8_t>(core::Scope::kLocal) &&
         data.scope <= static_cast<uint8_t>(core::Scope::kGlobal) &&
         AreKvals(data.kvals);
}

// Returns true if the operation is known. Only operations of groups have a
// name.
bool IsValid(const Series& series) {
  return series.op >= CollectiveOp::kFence &&
         IsGroupOp(series.op) == !series.name.empty();
}

Parsed ParseCommit(const Request& request) {
  auto data = ParseCommitted(request.payload);
  if (!data.ok()) return data.status();
  return core::Input(
      core::Committed{request.client, request.tag, std::move(*data)});
}

Parsed ParseCollective(const Request& request) {
  Collective frame;
  if (!Read(request, &frame) || !IsValid(frame.series)) {
    return Malformed("collective");
  }
  if (frame.series.participants.size() > request.max_names) {
    return TooManyNames();
  }
  core::CollectiveArrived input;
  input.client = request.client;
  input.request = request.tag;
  input.op = static_cast<core::CollectiveOp>(frame.series.op);
  input.name = frame.series.name;
  input.participants = OwnersOf(frame.series.participants);
  input.collect_data = frame.collect;
  input.timeout_ms = frame.timeout_ms;
  input.info = Copy(frame.info);
  return core::Input(std::move(input));
}

Parsed ParseGroupCall(const Request& request) {
  GroupCall frame;
  if (!Read(request, &frame) || frame.step < GroupStep::kInvite ||
      frame.group.empty() || request.tag == 0) {
    return Malformed("call about a group");
  }
  if (frame.procs.size() > request.max_names) return TooManyNames();
  core::GroupCallArrived input;
  input.client = request.client;
  input.request = request.tag;
  input.call = static_cast<core::GroupCallArrived::Call>(frame.step);
  input.name = frame.group;
  input.procs = OwnersOf(frame.procs);
  input.accepts = frame.accepts;
  input.timeout_ms = frame.timeout_ms;
  input.info = Copy(frame.info);
  return core::Input(std::move(input));
}

Parsed ParseReattach(const Request& request) {
  Reattach frame;
  if (!Read(request, &frame)) return Malformed("reattachment");
  core::ClientReattached input{request.client, {}};
  size_t names = 0;
  for (const auto& [series, ended] : frame.counts) {
    names += series.participants.size();
    if (!IsValid(series) || names > kMaxReattachedNames) {
      return Malformed("reattachment");
    }
    input.counts.push_back({static_cast<core::CollectiveOp>(series.op),
                            OwnersOf(series.participants), ended,
                            std::string(series.name)});
  }
  return core::Input(std::move(input));
}

Parsed ParseGet(const Request& request) {
  Get frame;
  if (!Read(request, &frame)) return Malformed("get");
  return core::Input(core::GetArrived{request.client, request.tag,
                                      OwnerOf(frame.target),
                                      std::string(frame.key), frame.immediate,
                                      frame.refresh, frame.timeout_ms});
}

Parsed ParseAbort(const Request& request) {
  Abort frame;
  if (!Read(request, &frame)) return Malformed("abort");
  if (frame.targets.size() > request.max_names) return TooManyNames();
  return core::Input(core::AbortArrived{request.client, request.tag,
                                        frame.status, std::string(frame.text),
                                        OwnersOf(frame.targets)});
}

Parsed ParseHostCall(const Request& request) {
  HostCall frame;
  if (!Read(request, &frame) || request.tag == 0 ||
      !(IsHostOp(frame.op) || frame.op == HostOp::kFabric)) {
    return Malformed("call to the host");
  }
  if (frame.targets.size() > request.max_names) return TooManyNames();
  core::HostCallArrived input;
  input.client = request.client;
  input.request = request.tag;
  input.op = frame.op;
  input.targets = OwnersOf(frame.targets);
  input.call = Copy(frame.call);
  return core::Input(std::move(input));
}

// Publish, spawn, query, lookup and unpublish need a tag, by which the agent
// recognises a request that is sent again.

Parsed ParsePublish(const Request& request) {
  Publish frame;
  if (!Read(request, &frame) || request.tag == 0) return Malformed("publish");
  return core::Input(
      core::PublishArrived{request.client, request.tag, Copy(frame.info)});
}

Parsed ParseSpawn(const Request& request) {
  Spawn frame;
  if (!Read(request, &frame) || request.tag == 0) return Malformed("spawn");
  return core::Input(
      core::SpawnArrived{request.client, request.tag, Copy(frame.call)});
}

Parsed ParseQuery(const Request& request) {
  Query frame;
  if (!Read(request, &frame) || request.tag == 0) return Malformed("query");
  return core::Input(
      core::QueryArrived{request.client, request.tag, Copy(frame.queries)});
}

bool ReadKeys(const Request& request, std::vector<std::string>* keys,
              Bytes* info) {
  Keys frame;
  if (!Read(request, &frame) || request.tag == 0) return false;
  keys->assign(frame.keys.begin(), frame.keys.end());
  *info = Copy(frame.info);
  return std::ranges::all_of(*keys, [](const std::string& key) {
    return !key.empty() && key.size() <= kMaxKeyLen;
  });
}

Parsed ParseLookup(const Request& request) {
  core::LookupArrived input{request.client, request.tag, {}, {}};
  if (!ReadKeys(request, &input.keys, &input.info) || input.keys.empty()) {
    return Malformed("lookup");
  }
  return core::Input(std::move(input));
}

Parsed ParseUnpublish(const Request& request) {
  core::UnpublishArrived input{request.client, request.tag, {}, {}};
  if (!ReadKeys(request, &input.keys, &input.info)) {
    return Malformed("unpublish");
  }
  return core::Input(std::move(input));
}

Parsed ParseWanted(const Request& request) {
  Subscription frame;
  if (!Read(request, &frame)) return Malformed("event registration");
  return core::Input(core::EventsWanted{request.client, request.tag, frame.all,
                                        std::move(frame.codes)});
}

Parsed ParseUnwanted(const Request& request) {
  Subscription frame;
  if (!Read(request, &frame)) return Malformed("event deregistration");
  return core::Input(
      core::EventsUnwanted{request.client, frame.all, std::move(frame.codes)});
}

Parsed ParseNotify(const Request& request, const ProcId& self) {
  Notify frame;
  if (!Read(request, &frame)) return Malformed("event");
  if (frame.receivers.size() > request.max_names) return TooManyNames();
  core::EventRaised input;
  input.client = request.client;
  input.request = input.id = request.tag;
  input.status = frame.status;
  input.source = self;
  input.range = frame.range;
  input.targets = OwnersOf(frame.receivers);
  input.info = Copy(frame.info);
  return core::Input(std::move(input));
}

}  // namespace

Result<std::vector<core::ScopedData>> ParseCommitted(std::string_view payload) {
  Commit frame;
  if (!wire::Decode(payload, &frame) ||
      !std::ranges::all_of(frame.scopes, [](const ScopedKvals& scoped) {
        return IsValid(scoped);
      })) {
    return Malformed("commit");
  }
  std::vector<core::ScopedData> data;
  data.reserve(frame.scopes.size());
  for (const auto& [scope, kvals] : frame.scopes) {
    data.push_back({static_cast<core::Scope>(scope), Copy(kvals)});
  }
  return data;
}

Result<core::Input> ParseRequest(core::ClientId client, const ProcId& self,
                                 const FrameHeader& header,
                                 std::string_view payload, size_t max_names) {
  const Request request{client, header.tag, payload, max_names};
  switch (static_cast<FrameType>(header.type)) {
    case FrameType::kCommit:
      return ParseCommit(request);
    case FrameType::kCollective:
      return ParseCollective(request);
    case FrameType::kGroupCall:
      return ParseGroupCall(request);
    case FrameType::kGet:
      return ParseGet(request);
    case FrameType::kAbort:
      return ParseAbort(request);
    case FrameType::kHostCall:
      return ParseHostCall(request);
    case FrameType::kPublish:
      return ParsePublish(request);
    case FrameType::kLookup:
      return ParseLookup(request);
    case FrameType::kUnpublish:
      return ParseUnpublish(request);
    case FrameType::kSpawn:
      return ParseSpawn(request);
    case FrameType::kQuery:
      return ParseQuery(request);
    case FrameType::kFinalize:
      return core::Input(core::FinalizeArrived{client, header.tag});
    case FrameType::kEventsWanted:
      return ParseWanted(request);
    case FrameType::kEventsUnwanted:
      return ParseUnwanted(request);
    case FrameType::kReattach:
      return ParseReattach(request);
    case FrameType::kNotify:
      return ParseNotify(request, self);
    default:
      return Status(kErrNotSupported, "unknown request");
  }
}

std::string FrameHead(FrameType type, uint64_t tag, size_t length,
                      size_t reserved) {
  FrameHeader header;
  header.length = static_cast<uint32_t>(length);
  header.type = static_cast<uint16_t>(type);
  header.tag = tag;
  std::string frame;
  frame.reserve(sizeof header + reserved);
  frame.append(reinterpret_cast<const char*>(&header), sizeof header);
  return frame;
}

std::string MakeReplyHead(uint64_t tag, int status, size_t payload_size) {
  const Reply reply{status, {}};
  const bool has_payload = payload_size > 0;
  const size_t before = wire::SizeOf(reply);
  const size_t head =
      before +
      (has_payload ? wire::Writer::HeadSize(kReplyPayload, payload_size) : 0);
  std::string frame =
      FrameHead(FrameType::kReply, tag, head + payload_size, head);
  wire::Append(reply, &frame);
  if (!has_payload) return frame;
  frame.resize(frame.size() + head - before);
  wire::Writer(frame.data() + frame.size() - (head - before))
      .Head(kReplyPayload, payload_size);
  return frame;
}

std::string MakeReply(uint64_t tag, int status, std::string_view payload) {
  return MakeFrame(FrameType::kReply, tag, Reply{status, payload});
}

std::string MakeWelcome(uint64_t tag, const Welcome& welcome) {
  return MakeReply(tag, kSuccess, wire::Encode(welcome));
}

std::string MakeEvent(const core::ClientEvent& event) {
  return MakeFrame(
      FrameType::kEvent, 0,
      Event{event.status, ViewOf(event.source), event.range, event.info.view(),
            ViewOf(event.id.raiser), event.id.number});
}

}  // namespace canopy::local
