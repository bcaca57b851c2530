#include "server/openpmix/output_pullers.h"

#include <algorithm>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/iof_failure.h"
#include "pmix_common.h"
#include "server/core/step/host.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kMaxPullers = 64;

// Returns the read request for the attributes that a client may set. All other
// attributes are ignored.
OutputRead ReadOf(const PullRequest& request) {
  OutputRead read;
  read.channels =
      request.channels & (kOutputChannel | kErrorChannel | kDiagnosticChannel);
  read.cache_size = request.infos.FindUint(PMIX_IOF_CACHE_SIZE).value_or(0);
  if (request.infos.FindBool(PMIX_IOF_DROP_OLDEST).value_or(false)) {
    read.overflow = Overflow::kDropOldest;
  }
  read.redirects = !request.infos.FindBool(PMIX_IOF_COPY).value_or(false);
  return read;
}

}  // namespace

void OutputPullers::Serve(Connection& c, uint32_t tag,
                          const PullRequest& request) {
  Client& client = clients_[c.id];
  Puller puller{request.handle, tag, ReadOf(request), 0, kSuccess, {}};
  if (puller.read.channels == 0) {
    return writer_->SendStatus(c, tag, kErrNotSupported);
  }
  for (const ProcId& proc : request.procs) {
    const std::string& nspace =
        proc.nspace.empty() ? c.proc.nspace : proc.nspace;
    auto flow = std::ranges::find(puller.flows, nspace, &Flow::nspace);
    if (flow == puller.flows.end()) {
      flow = puller.flows.insert(flow, Flow{nspace, {}, {}, false});
    }
    flow->targets.push_back({nspace, proc.rank});
  }
  if (puller.flows.empty()) return writer_->SendStatus(c, tag, kErrBadParam);
  if (client.pullers.size() >= kMaxPullers ||
      client.reads.size() + puller.flows.size() > kMaxPullers) {
    return writer_->SendStatus(c, tag, kErrOutOfResource);
  }
  const uint64_t number = ++client.last;
  puller.read.handle = number;
  puller.unregistered = puller.flows.size();
  const size_t flows = puller.flows.size();
  client.pullers.emplace(number, std::move(puller));
  for (size_t i = 0; i < flows; ++i) Read(c, client, {number, i}, false);
}

void OutputPullers::Read(Connection& c, Client& client, FlowId id, bool ends) {
  Puller& puller = client.pullers.at(id.first);
  Flow& flow = puller.flows[id.second];
  OutputRead read = puller.read;
  read.cursor = flow.cursor;
  read.ends = ends;
  const uint32_t tag = kFirstRead + (client.next_read++ % kFirstRead);
  if (!ends) client.reads[tag] = id;
  core::HostCallArrived input;
  input.client = c.id;
  input.request = (c.id << 32) | tag;
  input.op = HostOp::kReadOutput;
  input.targets = flow.targets;
  input.call = Bytes(wire::Encode(read));
  sink_->OnInput(std::move(input));
}

bool OutputPullers::OnReply(Connection& c, const core::ReplyClient& reply) {
  const auto tag = static_cast<uint32_t>(reply.request);
  const auto known = clients_.find(c.id);
  if (tag < kFirstRead || known == clients_.end()) return false;
  Client& client = known->second;
  const auto read = client.reads.extract(tag);
  if (read.empty()) return false;
  const auto puller = client.pullers.find(read.mapped().first);
  if (puller == client.pullers.end()) return true;
  if (puller->second.unregistered > 0) {
    OnRegistered(c, client, read.mapped(), reply);
  } else {
    OnRead(c, client, read.mapped(), reply);
  }
  return true;
}

void OutputPullers::OnRegistered(Connection& c, Client& client, FlowId id,
                                 const core::ReplyClient& reply) {
  Puller& puller = client.pullers.at(id.first);
  OutputRun run;
  if (reply.status == kSuccess && wire::Decode(reply.payload, &run)) {
    puller.flows[id.second].cursor = run.cursor;
  } else if (puller.status == kSuccess) {
    puller.status = reply.status == kSuccess ? kErrUnpackFailure : reply.status;
  }
  if (--puller.unregistered > 0) return;
  if (puller.status != kSuccess) {
    writer_->SendStatus(c, puller.tag, puller.status);
    return EndAll(c, client, id.first);
  }
  Encoder out(c.traits.form);
  out.PackStatus(kSuccess);
  out.PackSize(id.first);
  writer_->SendPayload(c, puller.tag, out.Take());
  for (size_t i = 0; i < puller.flows.size(); ++i) {
    Read(c, client, {id.first, i}, false);
  }
}

void OutputPullers::OnRead(Connection& c, Client& client, FlowId id,
                           const core::ReplyClient& reply) {
  Puller& puller = client.pullers.at(id.first);
  Flow& flow = puller.flows[id.second];
  OutputRun run;
  int status = reply.status;
  if (status == kSuccess && !wire::Decode(reply.payload, &run)) {
    status = kErrUnpackFailure;
  }
  if (status != kSuccess) return Fail(c, puller, flow, status);
  for (const OutputPiece& piece : run.pieces) {
    Send(c, puller, flow.nspace, piece);
  }
  flow.cursor = run.cursor;
  if (run.complete) return Read(c, client, id, true);
  flow.waits = c.out.size() > kMaxQueued;
  if (!flow.waits) Read(c, client, id, false);
}

// Reports by an event that no further output can be read. The clients' library
// has no notion of an end of all channels, so the tool gets no other report.
void OutputPullers::Fail(Connection& c, const Puller& puller, const Flow& flow,
                         int status) {
  const InfoList infos =
      IofEventInfos(flow.targets, puller.read.channels, status);
  std::string bytes;
  if (EncodeInfos(infos.data(), infos.size(), &bytes) != kSuccess) return;
  (void)writer_->SendEvent(c, kErrIofFailure, server_, bytes);
}

// Sends a piece of output; an empty piece means that the channel is closed.
void OutputPullers::Send(Connection& c, const Puller& puller,
                         const std::string& nspace, const OutputPiece& piece) {
  Encoder out(c.traits.form);
  out.PackProc({nspace, piece.rank});
  out.PackCall(PMIX_IOF_CHANNEL, 1, &piece.channel);
  out.PackSize(puller.handle);
  out.PackSize(0);
  out.PackByteObject(piece.data.view());
  writer_->SendPayload(c, kOutputTag, out.Take());
}

void OutputPullers::OnFlushed(Connection& c) {
  const auto known = clients_.find(c.id);
  if (known == clients_.end() || c.out.size() > kMaxQueued) return;
  Client& client = known->second;
  for (auto& [number, puller] : client.pullers) {
    for (size_t i = 0; i < puller.flows.size(); ++i) {
      if (!std::exchange(puller.flows[i].waits, false)) continue;
      Read(c, client, {number, i}, false);
    }
  }
}

void OutputPullers::Serve(Connection& c, uint32_t tag,
                          const StopPullRequest& request) {
  const auto known = clients_.find(c.id);
  const bool there =
      known != clients_.end() && known->second.pullers.contains(request.handle);
  if (there) EndAll(c, known->second, request.handle);
  writer_->SendStatus(c, tag, there ? kSuccess : kErrNotFound);
}

// Ends the puller's flows by a last read of each, whose answer is ignored.
void OutputPullers::EndAll(Connection& c, Client& client, uint64_t number) {
  const size_t flows = client.pullers.at(number).flows.size();
  for (size_t i = 0; i < flows; ++i) Read(c, client, {number, i}, true);
  client.pullers.erase(number);
  std::erase_if(client.reads, [number](const auto& read) {
    return read.second.first == number;
  });
}

}  // namespace canopy::openpmix
