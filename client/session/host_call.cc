#include "client/session/host_call.h"

#include <chrono>
#include <utility>

#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/local_protocol.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

// Job control is known to agents that know no other call.
local::FrameType TypeOf(HostOp op) {
  return op == HostOp::kJobControl ? local::FrameType::kJobControl
                                   : local::FrameType::kHostCall;
}

std::string PayloadOf(const HostCall& call) {
  WireWriter out;
  if (call.op != HostOp::kJobControl) {
    out.Uint(static_cast<uint64_t>(call.op));
  }
  PutProcs(call.targets, &out);
  out.String(call.call);
  return out.Take();
}

InfoList ResultsOf(const Reply& reply) {
  InfoList results;
  if (!DecodeInfos(reply.payload, &results)) results.Clear();
  return results;
}

}  // namespace

int CallHost(Session& session, const HostCall& call, InfoList* results) {
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const Reply reply = session.channel()->Call(TypeOf(call.op), PayloadOf(call));
  *results = ResultsOf(reply);
  return reply.status;
}

int CallHostAsync(Session& session, const HostCall& call,
                  std::function<void(int, InfoList)> done) {
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  return session.channel()->CallAsync(
      TypeOf(call.op), PayloadOf(call),
      [done = std::move(done)](const Reply& reply) {
        done(reply.status, ResultsOf(reply));
      });
}

HostCaller CallerOf(ChannelRef channel) {
  return [channel = std::move(channel)](std::string_view payload,
                                        Channel::Done done) {
    return channel->CallAsync(local::FrameType::kHostCall, payload,
                              std::move(done));
  };
}

int Await(Session& session, std::future<int> done) {
  while (session.progress().external() &&
         done.wait_for(std::chrono::milliseconds(1)) !=
             std::future_status::ready) {
    session.progress().RunPending();
  }
  return done.get();
}

}  // namespace canopy::client
