#include "client/session/debug_stop.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "client/session/event_op.h"
#include "client/session/get_options.h"
#include "client/session/lookup.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

// Interval at which this thread checks for events if the library has no thread.
constexpr auto kLookAgain = std::chrono::milliseconds(5);

struct Release {
  Mutex mu;
  CondVar changed;
  bool come CANOPY_GUARDED_BY(mu) = false;
  int status CANOPY_GUARDED_BY(mu) = PMIX_SUCCESS;
};

void OnRelease(size_t, pmix_status_t event, const pmix_proc_t*,
               pmix_info_t info[], size_t ninfo, pmix_info_t*, size_t,
               pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  const pmix_info_t* const object =
      FindInfo({info, ninfo}, PMIX_EVENT_RETURN_OBJECT);
  if (object != nullptr && object->value.type == PMIX_POINTER) {
    auto* const release = static_cast<Release*>(object->value.data.ptr);
    const MutexLock lock(release->mu);
    if (event == PMIX_ERR_LOST_CONNECTION) release->status = event;
    release->come = true;
    release->changed.NotifyAll();
  }
  done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

// Returns true if the value names the rank: it is true or a wildcard for all
// ranks, one rank, or a list of ranks.
bool NamesRank(const pmix_value_t& value, Rank rank) {
  const auto is_meant = [rank](Rank named) {
    return named == rank || named == kRankWildcard;
  };
  if (value.type == PMIX_PROC_RANK) return is_meant(value.data.rank);
  if (value.type != PMIX_DATA_ARRAY) return BoolOf(value).value_or(true);
  const pmix_data_array_t* const array = value.data.darray;
  if (array == nullptr || array->type != PMIX_PROC) return true;
  const std::span<const pmix_proc_t> procs(
      static_cast<const pmix_proc_t*>(array->array), array->size);
  return std::ranges::any_of(
      procs, [&](const pmix_proc_t& proc) { return is_meant(proc.rank); });
}

bool MustStop(const Session& session) {
  pmix_value_t raw = {};
  const Target self{session.self().nspace, session.self().rank};
  if (session.lookup()
          .Find(self, PMIX_DEBUG_STOP_IN_INIT, GetOptions(), &raw)
          .status != PMIX_SUCCESS) {
    return false;
  }
  const Value value = Value::Adopt(&raw);
  return NamesRank(value.raw(), self.rank);
}

int SayReady(Session& session) {
  InfoList infos;
  infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
  infos.Add(PMIX_BREAKPOINT, Value::String("pmix-init"));
  Notification ready;
  ready.status = PMIX_READY_FOR_DEBUG;
  ready.range = PMIX_RANGE_RM;
  ready.info = infos.data();
  ready.ninfo = infos.size();
  return NotifyEvent(session, ready, nullptr, nullptr);
}

int Await(Session& session, Release* release) {
  release->mu.Lock();
  while (!release->come) {
    if (!session.progress().external()) {
      release->changed.Wait(release->mu);
      continue;
    }
    (void)release->changed.WaitUntil(
        release->mu, std::chrono::steady_clock::now() + kLookAgain);
    release->mu.Unlock();
    session.progress().RunPending();
    release->mu.Lock();
  }
  const int status = release->status;
  release->mu.Unlock();
  return status;
}

}  // namespace

int StopForDebugger(Session& session, bool asked) {
  if (!asked && !MustStop(session)) return PMIX_SUCCESS;
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  Release release;
  InfoList infos;
  pmix_value_t object = {};
  object.type = PMIX_POINTER;
  object.data.ptr = &release;
  infos.Add(PMIX_EVENT_RETURN_OBJECT, Value::FromC(object));
  const pmix_status_t codes[] = {PMIX_DEBUGGER_RELEASE,
                                 PMIX_ERR_LOST_CONNECTION};
  const int reference = RegisterHandler(
      session, {codes, 2, infos.data(), infos.size(), OnRelease});
  if (reference < 0) return reference;
  int rc = SayReady(session);
  if (rc == PMIX_SUCCESS) rc = Await(session, &release);
  (void)DeregisterHandler(session, static_cast<size_t>(reference), nullptr,
                          nullptr);
  return rc;
}

}  // namespace canopy::client
