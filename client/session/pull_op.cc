#include "client/session/pull_op.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "client/channel/channel.h"
#include "client/session/host_call.h"
#include "client/session/iof_event.h"
#include "client/session/output_pulls.h"
#include "client/session/output_wishes.h"
#include "common/iof_call.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/iof_failure.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

constexpr size_t kMaxProcs = 1 << 16;
constexpr pmix_iof_channel_t kOutputs = PMIX_FWD_STDOUT_CHANNEL |
                                        PMIX_FWD_STDERR_CHANNEL |
                                        PMIX_FWD_STDDIAG_CHANNEL;

// Stores the value of a directive. Returns false if the value has a wrong type.
using Setter = bool (*)(const pmix_info_t& info, PullSpec* spec);

template <auto Member>
bool SetFormat(const pmix_info_t& info, PullSpec* spec) {
  spec->output.format.*Member = IsTrue(info);
  return true;
}

template <auto Member>
bool SetFlag(const pmix_info_t& info, PullSpec* spec) {
  spec->output.*Member = IsTrue(info);
  return true;
}

template <auto Member>
bool SetText(const pmix_info_t& info, PullSpec* spec) {
  const auto text = StringOf(info.value);
  if (!text || text->empty()) return false;
  spec->output.*Member = *text;
  return true;
}

bool SetCacheSize(const pmix_info_t& info, PullSpec* spec) {
  const auto size = Int64Of(info.value);
  if (!size || *size < 0) return false;
  spec->read.cache_size = static_cast<uint64_t>(*size);
  return true;
}

bool SetBuffering(const pmix_info_t& info, PullSpec* spec) {
  const auto size = Int64Of(info.value);
  if (!size || *size < 0) return false;
  spec->output.buffering_size = static_cast<size_t>(*size);
  return true;
}

bool SetBufferingTime(const pmix_info_t& info, PullSpec* spec) {
  const auto seconds = Int64Of(info.value);
  if (!seconds || *seconds < 0 || *seconds > INT32_MAX) return false;
  spec->output.buffering_time_s = static_cast<uint32_t>(*seconds);
  return true;
}

template <Overflow kPolicy>
bool SetOverflow(const pmix_info_t& info, PullSpec* spec) {
  if (IsTrue(info)) spec->read.overflow = kPolicy;
  return true;
}

template <auto Member>
bool SetRead(const pmix_info_t& info, PullSpec* spec) {
  spec->read.*Member = IsTrue(info);
  return true;
}

template <bool kRedirects>
bool SetMode(const pmix_info_t& info, PullSpec* spec) {
  if (IsTrue(info)) spec->read.redirects = kRedirects;
  return true;
}

struct Row {
  std::string_view key;
  Setter set;
};

constexpr Row kRows[] = {
    {PMIX_IOF_CACHE_SIZE, SetCacheSize},
    {PMIX_IOF_DROP_OLDEST, SetOverflow<Overflow::kDropOldest>},
    {PMIX_IOF_DROP_NEWEST, SetOverflow<Overflow::kDropNewest>},
    {PMIX_IOF_BUFFERING_SIZE, SetBuffering},
    {PMIX_IOF_BUFFERING_TIME, SetBufferingTime},
    {PMIX_IOF_TAG_OUTPUT, SetFormat<&OutputFormat::tag>},
    {PMIX_IOF_RANK_OUTPUT, SetFormat<&OutputFormat::rank>},
    {PMIX_IOF_TIMESTAMP_OUTPUT, SetFormat<&OutputFormat::timestamp>},
    {PMIX_IOF_XML_OUTPUT, SetFormat<&OutputFormat::xml>},
    {PMIX_IOF_OUTPUT_RAW, SetFormat<&OutputFormat::raw>},
    {PMIX_IOF_MERGE_STDERR_STDOUT, SetFlag<&PulledOutputOptions::merge>},
    {PMIX_IOF_OUTPUT_TO_FILE, SetText<&PulledOutputOptions::file>},
    {PMIX_IOF_OUTPUT_TO_DIRECTORY, SetText<&PulledOutputOptions::directory>},
    {PMIX_IOF_FILE_PATTERN, SetFlag<&PulledOutputOptions::pattern>},
    {PMIX_IOF_FILE_ONLY, SetFlag<&PulledOutputOptions::only_files>},
    {kFromNow, SetRead<&OutputRead::from_now>},
    {kOnlyCached, SetRead<&OutputRead::only_cached>},
    {PMIX_IOF_COPY, SetMode<false>},
    {PMIX_IOF_REDIRECT, SetMode<true>},
};

int ReadDirective(const pmix_info_t& info, PullSpec* spec) {
  const Row* const row = std::ranges::find(kRows, KeyOf(info), &Row::key);
  if (row == std::end(kRows)) {
    return support::NotHonoured("PMIx_IOF_pull", info);
  }
  return row->set(info, spec) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

// Reads the channels. PMIX_FWD_ALL_CHANNELS means all channels of output.
int ReadChannels(pmix_iof_channel_t channels, PullSpec* spec) {
  if (channels == PMIX_FWD_ALL_CHANNELS) channels = kOutputs;
  if ((channels & PMIX_FWD_STDIN_CHANNEL) != 0) return PMIX_ERR_NOT_SUPPORTED;
  if (channels == 0 || (channels & ~kOutputs) != 0) return PMIX_ERR_BAD_PARAM;
  spec->read.channels = channels;
  return PMIX_SUCCESS;
}

int ReadProcs(std::span<const pmix_proc_t> procs, PullSpec* spec) {
  if (procs.empty() || procs.data() == nullptr || procs.size() > kMaxProcs) {
    return PMIX_ERR_BAD_PARAM;
  }
  for (const pmix_proc_t& proc : procs) {
    spec->procs.push_back(FromC(proc));
    if (spec->procs.back().nspace.empty()) return PMIX_ERR_BAD_PARAM;
  }
  return PMIX_SUCCESS;
}

// Returns true if the directive names files. A launcher may write these files
// as well; a pull that copies output leaves them to the launcher.
bool NamesFiles(const pmix_info_t& info) {
  return KeyOf(info) == PMIX_IOF_OUTPUT_TO_FILE ||
         KeyOf(info) == PMIX_IOF_OUTPUT_TO_DIRECTORY;
}

bool IsCopy(const InfoArray& directives) {
  for (size_t i = 0; i < directives.size; ++i) {
    const pmix_info_t& info = directives.infos[i];
    if (KeyOf(info) == PMIX_IOF_COPY && IsTrue(info)) return true;
  }
  return false;
}

// Applies the directives of the job's spawn, which hold unless the pull has
// others.
int ReadWishes(Session& session, const PullRequest& request, PullSpec* spec) {
  const InfoList wishes =
      session.output_wishes().Of(spec->procs.front().nspace);
  const bool copies = IsCopy(request.directives);
  for (const pmix_info_t& info : wishes) {
    if (copies && NamesFiles(info)) continue;
    const int rc = ReadDirective(info, spec);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int ReadRequest(Session& session, const PullRequest& request, PullSpec* spec) {
  if (!request.directives.ok()) return PMIX_ERR_BAD_PARAM;
  int rc = ReadProcs(request.procs, spec);
  if (rc == PMIX_SUCCESS) rc = ReadChannels(request.channels, spec);
  spec->read.redirects = true;  // unless the pull requests a copy
  if (rc == PMIX_SUCCESS) rc = ReadWishes(session, request, spec);
  for (size_t i = 0; i < request.directives.size && rc == PMIX_SUCCESS; ++i) {
    rc = ReadDirective(request.directives.infos[i], spec);
  }
  return rc;
}

PullReceiver ReceiverOf(pmix_iof_cbfunc_t callback) {
  if (callback == nullptr) return nullptr;
  return [callback](size_t handle, const PulledPiece& piece) {
    InfoList infos;
    if (piece.closed) infos.Add(PMIX_IOF_COMPLETE, Value::Bool(true));
    if (piece.failure != PMIX_SUCCESS) {
      infos.Add(kIofStatus, Value::Status(piece.failure));
    }
    if (piece.dropped > 0) {
      infos.Add(kDroppedBytes, Value::Uint64(piece.dropped));
    }
    pmix_proc_t from = ToC(piece.source);
    pmix_byte_object_t bytes{const_cast<char*>(piece.data.data()),
                             piece.data.size()};
    callback(handle, piece.channel, &from, &bytes, infos.mutable_data(),
             infos.size());
  };
}

OutputPulls::Callbacks CallbacksOf(Session& session, const PullRequest& request,
                                   OutputPulls::Registered registered) {
  return {ReceiverOf(request.callback), std::move(registered),
          [&session](const PullFailure& failure) {
            RaiseIofEvent(session, kErrIofFailure, failure.procs,
                          failure.channels, failure.status);
          }};
}

}  // namespace

int PullOutputAsync(Session& session, const PullRequest& request,
                    pmix_hdlr_reg_cbfunc_t registered, void* cbdata) {
  PullSpec spec;
  const int rc = ReadRequest(session, request, &spec);
  if (rc != PMIX_SUCCESS) return rc;
  auto channel = session.channel();
  if (!channel) return PMIX_ERR_NOT_SUPPORTED;
  return session.pulls().Start(
      &session.progress(), CallerOf(channel), std::move(spec),
      CallbacksOf(
          session, request, [registered, cbdata](int status, size_t handle) {
            registered(status, status == PMIX_SUCCESS ? handle : SIZE_MAX,
                       cbdata);
          }));
}

int PullOutput(Session& session, const PullRequest& request) {
  PullSpec spec;
  int rc = ReadRequest(session, request, &spec);
  if (rc != PMIX_SUCCESS) return rc;
  auto channel = session.channel();
  if (!channel) return PMIX_ERR_NOT_SUPPORTED;
  // The blocking call would wait for its own thread.
  if (session.progress().InTask()) return PMIX_ERR_WOULD_BLOCK;
  const auto done = std::make_shared<std::promise<int>>();
  rc = session.pulls().Start(
      &session.progress(), CallerOf(channel), std::move(spec),
      CallbacksOf(session, request, [done](int status, size_t handle) {
        done->set_value(status == PMIX_SUCCESS ? static_cast<int>(handle)
                                               : status);
      }));
  return rc == PMIX_SUCCESS ? Await(session, done->get_future()) : rc;
}

int StopPullingAsync(Session& session, size_t handle, pmix_op_cbfunc_t cbfunc,
                     void* cbdata) {
  const bool there = session.pulls().Stop(
      &session.progress(), handle, [=](int status) { cbfunc(status, cbdata); });
  return there ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

int StopPulling(Session& session, size_t handle) {
  if (session.progress().InTask()) return PMIX_ERR_WOULD_BLOCK;
  const auto done = std::make_shared<std::promise<int>>();
  const bool there =
      session.pulls().Stop(&session.progress(), handle,
                           [done](int status) { done->set_value(status); });
  return there ? Await(session, done->get_future()) : PMIX_ERR_NOT_FOUND;
}

}  // namespace canopy::client
