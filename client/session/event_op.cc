#include "client/session/event_op.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/events/event.h"
#include "client/events/handler.h"
#include "client/session/directives.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/local/events.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

using local::FrameType;

// A handler that exists but does not get events yet, and the subscription for
// the agent.
struct Prepared {
  size_t reference = 0;
  SubscriptionChange change;
};

void ExpectEvents(Session& session) {
  const bool any = session.subscriptions().any();
  for (const ChannelRef& server : session.servers().open()) {
    server->ExpectEvents(any);
  }
}

int Prepare(Session& session, const Registration& registration, Prepared* out) {
  HandlerSpec spec;
  int rc = ParseHandlerSpec(registration.codes, registration.ncodes,
                            registration.info, registration.ninfo,
                            registration.function, &spec);
  if (rc != PMIX_SUCCESS) return rc;
  rc = session.events().Add(spec, &out->reference);
  if (rc != PMIX_SUCCESS) return rc;
  out->change = session.subscriptions().Add(spec);
  ExpectEvents(session);
  return PMIX_SUCCESS;
}

// Returns the servers to notify of a changed subscription. To a server that
// is attached later, Servers::Attach sends the complete subscription.
std::vector<ChannelRef> ServersToTell(Session& session,
                                      const SubscriptionChange& change) {
  if (change.empty()) return {};
  return session.servers().open();
}

// Combines the servers' statuses. One server that can deliver is enough.
int Combine(int before, int status) {
  return before == PMIX_SUCCESS ? before : status;
}

// Counts the answers of the servers that were notified of one change.
struct Telling {
  std::atomic<size_t> missing;
  std::atomic<int> status;
  std::function<void(int)> done;

  void Take(int answer) {
    int before = status.load();
    while (!status.compare_exchange_weak(before, Combine(before, answer))) {
    }
    if (missing.fetch_sub(1) == 1) done(status);
  }
};

int TellWanted(const std::vector<ChannelRef>& servers,
               const SubscriptionChange& change) {
  if (servers.empty()) return PMIX_SUCCESS;
  int status = PMIX_ERR_UNREACH;
  for (const ChannelRef& server : servers) {
    status = Combine(
        status, server->Call(FrameType::kEventsWanted, change.Encode()).status);
  }
  return status;
}

// Subscribes at all servers without blocking. `done` runs later, with the
// combined status. If there is only one server and the request to it cannot be
// sent, returns that error, and `done` does not run.
int TellWantedAsync(Session& session, const std::vector<ChannelRef>& servers,
                    const SubscriptionChange& change,
                    std::function<void(int)> done) {
  auto telling = std::make_shared<Telling>();
  telling->missing = servers.size();
  telling->status = PMIX_ERR_UNREACH;
  telling->done = std::move(done);
  for (const ChannelRef& server : servers) {
    const int rc = server->CallAsync(
        FrameType::kEventsWanted, change.Encode(),
        [telling](const Reply& reply) { telling->Take(reply.status); });
    if (rc == PMIX_SUCCESS) continue;
    if (servers.size() == 1) return rc;
    session.progress().Post([telling, rc] { telling->Take(rc); });
  }
  return PMIX_SUCCESS;
}

// Reverts Prepare.
void Withdraw(Session& session, size_t reference) {
  HandlerSpec spec;
  if (session.events().Remove(reference, &spec) != PMIX_SUCCESS) return;
  (void)session.subscriptions().Remove(spec);
  ExpectEvents(session);
}

int EncodeNotification(const Notification& event, std::string* frame) {
  std::string infos;
  const int rc = EncodeInfos(event.info, event.ninfo, &infos);
  if (rc != PMIX_SUCCESS) return rc;
  std::vector<ProcId> receivers;
  for (size_t i = 0; i < event.ninfo; ++i) {
    if (KeyOf(event.info[i]) != PMIX_EVENT_CUSTOM_RANGE) continue;
    receivers = ProcsOfInfo(event.info[i]);
  }
  if (event.range == PMIX_RANGE_CUSTOM && receivers.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  local::Notify notify{event.status, event.range, {}, infos};
  for (const ProcId& proc : receivers) {
    notify.receivers.push_back(ViewOf(proc));
  }
  *frame = wire::Encode(notify);
  return PMIX_SUCCESS;
}

// Raises the event for this process's handlers; the agent distributes it to
// others.
void RaiseHere(Session& session, const Notification& event) {
  // Events for the resource manager are not delivered to this process.
  if (event.range == PMIX_RANGE_RM) return;
  ProcId source =
      event.source == nullptr ? session.self() : FromC(*event.source);
  session.events().Raise(MakeEvent(event.status, std::move(source), event.range,
                                   InfoList::FromC(event.info, event.ninfo)));
}

// Infos that the library or the agents honour, or pass to the receivers.
constexpr std::string_view kHonouredForHandlers[] = {
    PMIX_EVENT_NON_DEFAULT,   PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_DO_NOT_CACHE,
    PMIX_EVENT_PROXY,         PMIX_EVENT_TEXT_MESSAGE, PMIX_EVENT_AFFECTED_PROC,
    PMIX_EVENT_AFFECTED_PROCS};

// Keys by which a resource manager announces the end of jobs. If a process
// raises such an event, nothing ends; the infos are data for the receivers.
constexpr std::string_view kAnnouncements[] = {
    PMIX_EVENT_TERMINATE_SESSION, PMIX_EVENT_TERMINATE_JOB,
    PMIX_EVENT_TERMINATE_NODE, PMIX_EVENT_TERMINATE_PROC,
    PMIX_EVENT_ACTION_TIMEOUT};

constexpr char kFunction[] = "PMIx_Notify_event";

// Infos with other keys are data for the handlers, unless they are required.
int CheckInfo(const pmix_info_t& info) {
  const std::string_view key = KeyOf(info);
  const bool is_directive =
      IsRequired(info) || std::ranges::count(kAnnouncements, key) > 0;
  return is_directive && std::ranges::count(kHonouredForHandlers, key) == 0
             ? support::NotHonoured(kFunction, info)
             : PMIX_SUCCESS;
}

int CheckNotification(const Notification& event) {
  if (event.info == nullptr && event.ninfo > 0) return PMIX_ERR_BAD_PARAM;
  if (event.range > PMIX_RANGE_PROC_LOCAL) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < event.ninfo; ++i) {
    const int rc = CheckInfo(event.info[i]);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int Accepted(Session& session, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc != nullptr) {
    session.progress().Post([=] { cbfunc(PMIX_SUCCESS, cbdata); });
  }
  return PMIX_SUCCESS;
}

}  // namespace

int RegisterHandler(Session& session, const Registration& registration) {
  Prepared prepared;
  const int rc = Prepare(session, registration, &prepared);
  if (rc != PMIX_SUCCESS) return rc;
  const int status =
      TellWanted(ServersToTell(session, prepared.change), prepared.change);
  if (status != PMIX_SUCCESS) {
    Withdraw(session, prepared.reference);
    return status;
  }
  session.events().Activate(prepared.reference);
  return static_cast<int>(prepared.reference);
}

int RegisterHandlerAsync(Session& session, const Registration& registration,
                         pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata) {
  Prepared prepared;
  int rc = Prepare(session, registration, &prepared);
  if (rc != PMIX_SUCCESS) return rc;
  const size_t reference = prepared.reference;
  const auto finish = [&session, reference, cbfunc, cbdata](int status) {
    if (status != PMIX_SUCCESS) {
      Withdraw(session, reference);
      cbfunc(status, SIZE_MAX, cbdata);
      return;
    }
    cbfunc(PMIX_SUCCESS, reference, cbdata);
    session.events().Activate(reference);
  };
  const std::vector<ChannelRef> servers =
      ServersToTell(session, prepared.change);
  if (servers.empty()) {
    session.progress().Post([finish] { finish(PMIX_SUCCESS); });
    return PMIX_SUCCESS;
  }
  rc = TellWantedAsync(session, servers, prepared.change, finish);
  if (rc != PMIX_SUCCESS) Withdraw(session, reference);
  return rc;
}

int DeregisterHandler(Session& session, size_t reference,
                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  HandlerSpec spec;
  const int rc = session.events().Remove(reference, &spec);
  if (rc != PMIX_SUCCESS) return rc;
  const SubscriptionChange change = session.subscriptions().Remove(spec);
  ExpectEvents(session);
  for (const ChannelRef& server : ServersToTell(session, change)) {
    // Without an agent there is no subscription to remove.
    (void)server->Post(FrameType::kEventsUnwanted, change.Encode());
  }
  return Accepted(session, cbfunc, cbdata);
}

int NotifyEvent(Session& session, const Notification& event,
                pmix_op_cbfunc_t cbfunc, void* cbdata) {
  int rc = CheckNotification(event);
  if (rc != PMIX_SUCCESS) return rc;
  std::string frame;
  const ChannelRef server =
      event.within_job ? session.job_channel() : session.channel();
  const bool stays_here =
      event.range == PMIX_RANGE_PROC_LOCAL || server == nullptr;
  if (!stays_here) {
    rc = EncodeNotification(event, &frame);
    if (rc != PMIX_SUCCESS) return rc;
  }
  RaiseHere(session, event);
  if (event.range != PMIX_RANGE_PROC_LOCAL) {
    if (const auto distribute = session.distributor()) {
      if (stays_here) return distribute(event, cbfunc, cbdata);
      // If this process also runs a server, only the answer of the server to
      // which it is connected counts.
      (void)distribute(event, nullptr, nullptr);
    }
  }
  if (stays_here) return Accepted(session, cbfunc, cbdata);
  if (cbfunc == nullptr) {
    return server->Call(FrameType::kNotify, frame).status;
  }
  return server->CallAsync(FrameType::kNotify, frame, [=](const Reply& reply) {
    cbfunc(reply.status, cbdata);
  });
}

}  // namespace canopy::client
