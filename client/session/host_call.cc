#include "client/session/host_call.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/ids.h"
#include "common/local/calls.h"
#include "common/local_protocol.h"

namespace canopy::client {
namespace {

using local::FrameType;

std::string PayloadOf(const HostCall& call) {
  return wire::Encode(
      local::HostCall{call.op, ViewsOf(call.targets), call.call});
}

InfoList ResultsOf(std::string_view payload) {
  InfoList results;
  if (!DecodeInfos(payload, &results)) results.Clear();
  return results;
}

std::vector<ProcId> TargetsOf(const HostCall& call) {
  std::vector<ProcId> targets;
  for (const pmix_proc_t& proc : call.targets) targets.push_back(FromC(proc));
  return targets;
}

// Calls the host of the server that this process runs.
int CallOwnHost(const Session::HostFunction& host, const HostCall& call,
                InfoList* results) {
  std::promise<int> answered;
  const int rc = host(call.op, TargetsOf(call), call.call, /*waits=*/true,
                      [&](int status, const std::string& payload) {
                        *results = ResultsOf(payload);
                        answered.set_value(status);
                      });
  return rc == PMIX_SUCCESS ? answered.get_future().get() : rc;
}

// Like CallOwnHost, but does not block: `done` runs on the progress thread.
int AskOwnHost(Session& session, const Session::HostFunction& host, HostOp op,
               std::vector<ProcId> targets, std::string call,
               std::function<void(Reply)> done) {
  return host(op, std::move(targets), std::move(call), /*waits=*/false,
              [&session, done = std::move(done)](int status,
                                                 const std::string& payload) {
                session.progress().Post(
                    [done, reply = Reply{status, payload}] { done(reply); });
              });
}

// Sends a payload that PayloadOf or a similar function has encoded.
int SendToOwnHost(Session& session, const Session::HostFunction& host,
                  std::string_view payload, Channel::Done done) {
  local::HostCall frame;
  if (!wire::Decode(payload, &frame)) return PMIX_ERR_BAD_PARAM;
  std::vector<ProcId> targets;
  for (const ProcView& target : frame.targets) {
    targets.push_back(OwnerOf(target));
  }
  return AskOwnHost(session, host, frame.op, std::move(targets),
                    std::string(frame.call), std::move(done));
}

}  // namespace

int CallHost(Session& session, const HostCall& call, InfoList* results) {
  if (const auto host = session.host()) {
    return CallOwnHost(host, call, results);
  }
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const Reply reply =
      session.channel()->Call(FrameType::kHostCall, PayloadOf(call));
  *results = ResultsOf(reply.payload);
  return reply.status;
}

int CallHostAsync(Session& session, const HostCall& call,
                  std::function<void(int, InfoList)> done) {
  if (const auto host = session.host()) {
    return AskOwnHost(session, host, call.op, TargetsOf(call), call.call,
                      [done = std::move(done)](const Reply& reply) {
                        done(reply.status, ResultsOf(reply.payload));
                      });
  }
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  return session.channel()->CallAsync(
      FrameType::kHostCall, PayloadOf(call),
      [done = std::move(done)](const Reply& reply) {
        done(reply.status, ResultsOf(reply.payload));
      });
}

HostCaller CallerOf(Session& session) {
  if (auto host = session.host()) {
    return [&session, host = std::move(host)](std::string_view payload,
                                              Channel::Done done) {
      return SendToOwnHost(session, host, payload, std::move(done));
    };
  }
  ChannelRef channel = session.channel();
  return channel ? CallerOf(std::move(channel)) : nullptr;
}

HostCaller CallerOf(ChannelRef channel) {
  return [channel = std::move(channel)](std::string_view payload,
                                        Channel::Done done) {
    return channel->CallAsync(FrameType::kHostCall, payload, std::move(done));
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
