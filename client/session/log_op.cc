#include "client/session/log_op.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string>
#include <string_view>

#include "client/session/host_call.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/log_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

constexpr std::string_view kTexts[] = {
    PMIX_LOG_STDERR,       PMIX_LOG_STDOUT,        PMIX_LOG_SYSLOG,
    PMIX_LOG_LOCAL_SYSLOG, PMIX_LOG_GLOBAL_SYSLOG, PMIX_LOG_JOB_RECORD};

bool IsWellFormed(const pmix_info_t& info) {
  const bool is_text =
      std::ranges::find(kTexts, KeyOf(info)) != std::end(kTexts);
  return !is_text || StringOf(info.value).has_value();
}

// Returns a random number for the first call, so that a later process with the
// same rank uses other numbers.
uint64_t FirstNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = static_cast<uint64_t>(time(nullptr)) << 32;
  }
  return number;
}

uint64_t NextNumber() {
  static std::atomic<uint64_t> next(FirstNumber());
  return next++;
}

// Adds the number of the call. If a timestamp is requested and none is given,
// also adds the time of the call, because another node may log the text later.
InfoList WithOurs(const InfoArray& directives) {
  InfoList all = InfoList::FromC(directives.infos, directives.size);
  if (all.FindBool(PMIX_LOG_GENERATE_TIMESTAMP).value_or(false) &&
      !all.Has(PMIX_LOG_TIMESTAMP)) {
    all.Add(PMIX_LOG_TIMESTAMP, Value::Time(time(nullptr)));
  }
  all.Add(kLogNumber, Value::Uint64(NextNumber()));
  return all;
}

int MakeCall(const InfoArray& data, const InfoArray& directives,
             HostCall* call) {
  if (data.infos == nullptr || data.size == 0 || !directives.ok() ||
      !std::all_of(data.infos, data.infos + data.size, IsWellFormed)) {
    return PMIX_ERR_BAD_PARAM;
  }
  const InfoList all = WithOurs(directives);
  std::string texts;
  std::string rest;
  int rc = EncodeInfos(data.infos, data.size, &texts);
  if (rc == PMIX_SUCCESS) rc = EncodeInfos(all.data(), all.size(), &rest);
  call->op = HostOp::kLog;
  call->call = wire::Encode(host_call::Log{texts, rest});
  return rc;
}

}  // namespace

int LogData(Session& session, const InfoArray& data,
            const InfoArray& directives) {
  HostCall call;
  const int rc = MakeCall(data, directives, &call);
  InfoList results;
  return rc == PMIX_SUCCESS ? CallHost(session, call, &results) : rc;
}

int LogDataAsync(Session& session, const InfoArray& data,
                 const InfoArray& directives, pmix_op_cbfunc_t cbfunc,
                 void* cbdata) {
  HostCall call;
  const int rc = MakeCall(data, directives, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, const InfoList&) {
    cbfunc(status, cbdata);
  });
}

}  // namespace canopy::client
