#include "client/session/push_op.h"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/channel/channel.h"
#include "client/session/host_call.h"
#include "client/session/iof_event.h"
#include "client/session/stdin_push.h"
#include "common/bytes.h"
#include "common/describe.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/local/calls.h"
#include "common/support/ignored_directives.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// The number of bytes that one host call may carry.
constexpr size_t kPiece = size_t{64} << 10;

struct Parsed {
  std::vector<ProcId> targets;
  std::string bytes;
  bool complete = false;
  bool own_input = false;
  bool drops_oldest = false;
  bool drops_newest = false;
};

// Reads the directives about an overflowing cache. They are honoured without an
// effect: a push ends when the processes have read its bytes, and the library
// keeps the bytes until then, so no cache overflows.
int ReadOverflow(const pmix_info_t& info, std::string_view key, Parsed* out) {
  if (key == PMIX_IOF_CACHE_SIZE) {
    return Uint64Of(info.value) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }
  (key == PMIX_IOF_DROP_OLDEST ? out->drops_oldest : out->drops_newest) =
      IsTrue(info);
  // The two directives contradict each other.
  return out->drops_oldest && out->drops_newest ? PMIX_ERR_BAD_PARAM
                                                : PMIX_SUCCESS;
}

int ReadDirective(const pmix_info_t& info, Parsed* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_IOF_COMPLETE) {
    out->complete = IsTrue(info);
  } else if (key == PMIX_IOF_PUSH_STDIN) {
    out->own_input = IsTrue(info);
  } else if (key == PMIX_IOF_CACHE_SIZE || key == PMIX_IOF_DROP_OLDEST ||
             key == PMIX_IOF_DROP_NEWEST) {
    return ReadOverflow(info, key, out);
  } else {
    return support::NotHonoured("PMIx_IOF_push", info);
  }
  return PMIX_SUCCESS;
}

int ReadTargets(std::span<const pmix_proc_t> targets, Parsed* out) {
  for (const pmix_proc_t& target : targets) {
    out->targets.push_back(FromC(target));
    const std::string& nspace = out->targets.back().nspace;
    if (nspace.empty()) return PMIX_ERR_BAD_PARAM;
    if (nspace != out->targets.front().nspace) return PMIX_ERR_NOT_SUPPORTED;
  }
  return PMIX_SUCCESS;
}

int Parse(const PushRequest& request, Parsed* out) {
  if (!request.directives.ok()) return PMIX_ERR_BAD_PARAM;
  const bool for_nobody = request.targets.empty();
  int rc = ReadTargets(request.targets, out);
  for (size_t i = 0; i < request.directives.size && rc == PMIX_SUCCESS; ++i) {
    rc = ReadDirective(request.directives.infos[i], out);
  }
  if (rc != PMIX_SUCCESS) return rc;
  const pmix_byte_object_t* bytes = request.bytes;
  if (bytes != nullptr && bytes->size > 0) {
    if (bytes->bytes == nullptr) return PMIX_ERR_BAD_PARAM;
    out->bytes.assign(bytes->bytes, bytes->size);
  }
  const bool is_end = out->bytes.empty() && !out->own_input;
  // A request that only ends the input may have no targets. It then ends the
  // reading of standard input.
  if (is_end ? !out->complete : for_nobody) return PMIX_ERR_BAD_PARAM;
  // Either the caller or the library reads the input.
  return out->own_input && !out->bytes.empty() ? PMIX_ERR_BAD_PARAM
                                               : PMIX_SUCCESS;
}

// A push in progress, which is sent in parts; lives until the last of them.
struct Push {
  Parsed what;
  HostCaller call;
  std::function<void(int)> done;
  size_t sent = 0;
  bool closed = false;
};
using PushRef = std::shared_ptr<Push>;

std::string Payload(const Push& push, std::string_view piece, bool complete) {
  const std::string call =
      wire::Encode(InputPush{Bytes(std::string(piece)), complete});
  local::HostCall frame{HostOp::kPushInput, {}, call};
  for (const ProcId& target : push.what.targets) {
    frame.targets.push_back(ViewOf(target));
  }
  return wire::Encode(frame);
}

// Sends the next part; the last one includes the end of input, if requested.
int SendNext(const PushRef& push) {
  const std::string_view all = push->what.bytes;
  const std::string_view piece = all.substr(push->sent, kPiece);
  push->sent += piece.size();
  push->closed = push->sent == all.size();
  return push->call(Payload(*push, piece, push->closed && push->what.complete),
                    [push](const Reply& reply) {
                      if (reply.status != PMIX_SUCCESS || push->closed) {
                        return push->done(reply.status);
                      }
                      const int rc = SendNext(push);
                      if (rc != PMIX_SUCCESS) push->done(rc);
                    });
}

// Raises an event for the end of this process's own input, because no call
// waits for it. Runs on the progress thread.
void TellEnd(Session& session, const Parsed& what, int status) {
  if (session.pulls().leaving()) return;
  if (status == PMIX_SUCCESS && !what.complete) return;
  const bool ended = status == PMIX_SUCCESS || status == kErrIofComplete;
  RaiseIofEvent(session, ended ? kErrIofComplete : kErrIofFailure, what.targets,
                PMIX_FWD_STDIN_CHANNEL, status);
}

int PushOwnInput(Session& session, const std::vector<ProcId>& targets,
                 const HostCaller& call) {
  return session.stdin_push().Start(
      [&session, call, targets](std::string bytes, bool complete,
                                std::function<void(int)> then) {
        const auto push = std::make_shared<Push>();
        push->what = {targets, std::move(bytes), complete, false};
        push->call = call;
        push->done = [&session, what = Parsed{targets, {}, complete, false},
                      then](int status) {
          TellEnd(session, what, status);
          then(status);
        };
        // Does not call push->done, which uses the session, because the pushing
        // thread may outlive the session.
        const int sent = SendNext(push);
        if (sent != PMIX_SUCCESS) then(sent);
      });
}

// If standard input is being read, ends the reading, and the input of its
// targets.
int EndOwnInput(Session& session, std::function<void(int)> done) {
  session.stdin_push().End([&session, done = std::move(done)](int status) {
    session.progress().Post([done, status] { done(status); });
  });
  return PMIX_SUCCESS;
}

int Start(Session& session, Parsed what, std::function<void(int)> done) {
  if (what.targets.empty()) return EndOwnInput(session, std::move(done));
  const HostCaller call = CallerOf(session);
  if (!call) return PMIX_ERR_NOT_SUPPORTED;
  if (what.complete) session.stdin_push().Stop();
  if (!what.own_input) {
    const auto push = std::make_shared<Push>();
    push->what = std::move(what);
    push->call = call;
    push->done = std::move(done);
    return SendNext(push);
  }
  const int rc = PushOwnInput(session, what.targets, call);
  if (rc == PMIX_SUCCESS) {
    session.progress().Post([done = std::move(done)] { done(PMIX_SUCCESS); });
  }
  return rc;
}

}  // namespace

int PushInput(Session& session, const PushRequest& request) {
  Parsed what;
  int rc = Parse(request, &what);
  if (rc != PMIX_SUCCESS) return rc;
  // The blocking call would wait for its own thread.
  if (session.progress().InTask()) return PMIX_ERR_WOULD_BLOCK;
  const auto done = std::make_shared<std::promise<int>>();
  rc = Start(session, std::move(what),
             [done](int status) { done->set_value(status); });
  return rc == PMIX_SUCCESS ? Await(session, done->get_future()) : rc;
}

int PushInputAsync(Session& session, const PushRequest& request,
                   pmix_op_cbfunc_t cbfunc, void* cbdata) {
  Parsed what;
  const int rc = Parse(request, &what);
  if (rc != PMIX_SUCCESS) return rc;
  return Start(session, std::move(what),
               [=](int status) { cbfunc(status, cbdata); });
}

}  // namespace canopy::client
