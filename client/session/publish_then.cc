#include "client/session/publish_then.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "client/session/publish_op.h"

namespace canopy::client {
namespace {

using Then = std::function<void(int status)>;

// Callbacks for the C interface. Their context is a std::function, which they
// call and free.

void CallThen(pmix_status_t status, void* cbdata) {
  const std::unique_ptr<Then> then(static_cast<Then*>(cbdata));
  (*then)(status);
}

void CallFound(pmix_status_t status, pmix_pdata_t data[], size_t ndata,
               void* cbdata) {
  const std::unique_ptr<Found> then(static_cast<Found*>(cbdata));
  (*then)(status, {data, ndata});
}

}  // namespace

void PublishThen(Session& session, const InfoList& infos, Then then) {
  auto end = std::make_unique<Then>(std::move(then));
  const int rc = PublishDataAsync(session, {infos.data(), infos.size()},
                                  CallThen, end.get());
  if (rc != PMIX_SUCCESS) return (*end)(rc);
  (void)end.release();
}

void LookUpThen(Session& session, std::vector<std::string> keys,
                const InfoList& directives, Found then) {
  std::vector<char*> pointers;
  pointers.reserve(keys.size() + 1);
  for (std::string& key : keys) pointers.push_back(key.data());
  pointers.push_back(nullptr);
  auto end = std::make_unique<Found>(std::move(then));
  const int rc = LookUpDataAsync(session, pointers.data(),
                                 {directives.data(), directives.size()},
                                 CallFound, end.get());
  if (rc != PMIX_SUCCESS) return (*end)(rc, {});
  (void)end.release();
}

void UnpublishThen(Session& session, std::string key, Then then) {
  char* const keys[] = {key.data(), nullptr};
  auto end = std::make_unique<Then>(std::move(then));
  const int rc = UnpublishDataAsync(session, keys, {}, CallThen, end.get());
  if (rc != PMIX_SUCCESS) return (*end)(rc);
  (void)end.release();
}

}  // namespace canopy::client
