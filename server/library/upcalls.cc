#include "server/library/upcalls.h"

#include <fcntl.h>

#include <cstring>

#include "common/time_units.h"

namespace canopy::library {
namespace {

std::string TextOf(const char* text, size_t limit) {
  return text == nullptr ? "" : std::string(text, strnlen(text, limit));
}

}  // namespace

// The object is never destroyed, because hosts may call back while the process
// ends.
Upcalls& Upcalls::OfProcess() {
  static auto* const upcalls = new Upcalls;
  return *upcalls;
}

void Upcalls::Open(EventLoop* loop) {
  const MutexLock lock(mutex_);
  loop_ = loop;
}

void Upcalls::Close() {
  std::map<uintptr_t, Pending> pending;  // destroyed without the lock
  const MutexLock lock(mutex_);
  loop_ = nullptr;
  pending.swap(pending_);
  listeners_.clear();
}

bool Upcalls::Listen(pmix_server_listener_fn_t function, int listener,
                     std::function<void(UniqueFd)> on_connection) {
  if (function == nullptr) return false;
  uintptr_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = next_++;
    listeners_[number] = std::move(on_connection);
  }
  const pmix_status_t status =
      function(listener, OnConnection, reinterpret_cast<void*>(number));
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return true;
  const MutexLock lock(mutex_);
  listeners_.erase(number);
  return false;
}

// Accepts a connection from the host. The descriptor may have any flags.
void Upcalls::OnConnection(int connection, void* cbdata) {
  UniqueFd fd(connection);
  if (!fd) return;
  fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  OfProcess().Take(reinterpret_cast<uintptr_t>(cbdata), std::move(fd));
}

// Passes the connection to its listener. Closes it if the listener no longer
// exists.
void Upcalls::Take(uintptr_t listener, UniqueFd connection) {
  const MutexLock lock(mutex_);
  if (loop_ == nullptr || !listeners_.contains(listener)) return;
  const auto fd = std::make_shared<UniqueFd>(std::move(connection));
  loop_->Post([this, listener, fd] {
    std::function<void(UniqueFd)> take;
    {
      const MutexLock again(mutex_);
      const auto found = listeners_.find(listener);
      if (found != listeners_.end()) take = found->second;
    }
    if (take) take(std::move(*fd));
  });
}

void Upcalls::Call(std::shared_ptr<const void> arguments,
                   const std::function<pmix_status_t(void* cbdata)>& function,
                   Done done, uint32_t timeout_ms) {
  void* cbdata = nullptr;
  {
    const MutexLock lock(mutex_);
    if (loop_ == nullptr) return;
    const uintptr_t number = next_++;
    cbdata = reinterpret_cast<void*>(number);
    pending_[number] = {std::move(arguments), std::move(done)};
    if (timeout_ms > 0) {
      loop_->AddTimer(int64_t{timeout_ms} * kNsPerMs,
                      [this, number] { Expire(number); });
    }
  }
  const pmix_status_t status = function(cbdata);
  if (status == PMIX_SUCCESS) return;
  HostAnswer answer;
  answer.status = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
  Finish(cbdata, std::move(answer));
}

void Upcalls::Expire(uintptr_t number) {
  Done done;
  {
    const MutexLock lock(mutex_);
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    done = std::exchange(found->second.done, nullptr);
  }
  HostAnswer answer;
  answer.status = PMIX_ERR_TIMEOUT;
  if (done) done(std::move(answer));
}

void Upcalls::Finish(void* cbdata, HostAnswer answer) {
  Pending pending;  // its arguments are freed without the lock
  const MutexLock lock(mutex_);
  auto found = pending_.extract(reinterpret_cast<uintptr_t>(cbdata));
  if (!found || loop_ == nullptr) return;
  pending = std::move(found.mapped());
  if (!pending.done) return;
  loop_->Post(
      [done = std::move(pending.done), answer = std::move(answer)]() mutable {
        done(std::move(answer));
      });
}

// Releases the memory later, not within the callback, because hosts may call
// the callback with a lock held that their release function takes too.
void Upcalls::Return(pmix_release_cbfunc_t release, void* cbdata) {
  if (release == nullptr) return;
  {
    const MutexLock lock(mutex_);
    if (loop_ != nullptr) {
      return loop_->Post([release, cbdata] { release(cbdata); });
    }
  }
  release(cbdata);
}

void Upcalls::OnOp(pmix_status_t status, void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  OfProcess().Finish(cbdata, std::move(answer));
}

void Upcalls::OnModex(pmix_status_t status, const char* data, size_t ndata,
                      void* cbdata, pmix_release_cbfunc_t release,
                      void* release_cbdata) {
  HostAnswer answer;
  answer.status = status;
  if (data != nullptr) answer.data.assign(data, ndata);
  OfProcess().Finish(cbdata, std::move(answer));
  OfProcess().Return(release, release_cbdata);
}

void Upcalls::OnInfos(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                      void* cbdata, pmix_release_cbfunc_t release,
                      void* release_cbdata) {
  HostAnswer answer;
  answer.status = status;
  answer.infos = InfoList::FromC(info, ninfo);
  OfProcess().Finish(cbdata, std::move(answer));
  OfProcess().Return(release, release_cbdata);
}

void Upcalls::OnLookup(pmix_status_t status, pmix_pdata_t data[], size_t ndata,
                       void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  for (size_t i = 0; data != nullptr && i < ndata; ++i) {
    answer.found.push_back({FromC(data[i].proc),
                            TextOf(data[i].key, PMIX_MAX_KEYLEN),
                            Value::FromC(data[i].value)});
  }
  OfProcess().Finish(cbdata, std::move(answer));
}

void Upcalls::OnSpawn(pmix_status_t status, pmix_nspace_t nspace,
                      void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  answer.nspace = TextOf(nspace, PMIX_MAX_NSLEN);
  OfProcess().Finish(cbdata, std::move(answer));
}

void Upcalls::OnCredential(pmix_status_t status, pmix_byte_object_t* credential,
                           pmix_info_t info[], size_t ninfo, void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  if (credential != nullptr && credential->bytes != nullptr) {
    answer.data.assign(credential->bytes, credential->size);
  }
  answer.infos = InfoList::FromC(info, ninfo);
  OfProcess().Finish(cbdata, std::move(answer));
}

void Upcalls::OnTool(pmix_status_t status, pmix_proc_t* proc, void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  if (proc != nullptr) answer.proc = FromC(*proc);
  OfProcess().Finish(cbdata, std::move(answer));
}

void Upcalls::OnValidation(pmix_status_t status, pmix_info_t info[],
                           size_t ninfo, void* cbdata) {
  HostAnswer answer;
  answer.status = status;
  answer.infos = InfoList::FromC(info, ninfo);
  OfProcess().Finish(cbdata, std::move(answer));
}

}  // namespace canopy::library
