#include "client/abi/server_data.h"

#include <pthread.h>

namespace canopy::client {

ServerData& ServerData::Of() {
  static auto* const data = [] {
    auto* made = new ServerData;
    the_ = made;
    pthread_atfork(BeforeFork, AfterFork, AfterFork);
    return made;
  }();
  return *data;
}

ServerData* ServerData::the_ = nullptr;

// A child may read its environment, so no thread may hold the lock during a
// fork.
void ServerData::BeforeFork() CANOPY_NO_THREAD_SAFETY_ANALYSIS {
  the_->mu_.Lock();
}

void ServerData::AfterFork() CANOPY_NO_THREAD_SAFETY_ANALYSIS {
  the_->mu_.Unlock();
}

void ServerData::Open() {
  const MutexLock lock(mu_);
  open_ = true;
}

void ServerData::Close() {
  const MutexLock lock(mu_);
  open_ = false;
  resources_ = {};
  support_ = {};
}

bool ServerData::is_open() const {
  const MutexLock lock(mu_);
  return open_;
}

Status ServerData::RegisterResources(std::span<const pmix_info_t> infos) {
  const MutexLock lock(mu_);
  return resources_.Register(infos);
}

Status ServerData::DeregisterResources(std::span<const pmix_info_t> infos) {
  const MutexLock lock(mu_);
  return resources_.Deregister(infos);
}

Status ServerData::DeliverInventory(std::span<const pmix_info_t> infos) {
  const MutexLock lock(mu_);
  return resources_.Deliver(infos);
}

void ServerData::AddResources(registration::Registration* told) const {
  const MutexLock lock(mu_);
  resources_.AddTo(told);
}

Status ServerData::AddSupport(const std::string& nspace,
                              std::span<const pmix_info_t> infos) {
  const MutexLock lock(mu_);
  return support_.Add(nspace, infos);
}

void ServerData::ApplySupport(const std::string& nspace,
                              spawn::Environment* env) const {
  const MutexLock lock(mu_);
  support_.Apply(nspace, env);
}

void ServerData::RemoveSupport(const std::string& nspace) {
  const MutexLock lock(mu_);
  support_.Remove(nspace);
}

}  // namespace canopy::client
