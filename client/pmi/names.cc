#include "client/pmi/names.h"

#include <cstring>
#include <string_view>

#include "client/pmi/key_space.h"
#include "client/pmi/process.h"

namespace canopy::pmi {

namespace {

// A name that is never published.
constexpr char kUnknownService[] = "|no service";

pmix_status_t LookUp(const char* service, std::optional<std::string>* port) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, service);
  const pmix_status_t status = PMIx_Lookup(&data, 1, nullptr, 0);
  if (status == PMIX_SUCCESS) *port = TextIn(data.value);
  PMIX_PDATA_DESTRUCT(&data);
  return status;
}

}  // namespace

bool IsServiceName(const char* name) {
  if (name == nullptr || *name == '\0') return false;
  return strnlen(name, PMIX_MAX_KEYLEN + 1) <= PMIX_MAX_KEYLEN &&
         !std::string_view(name).starts_with(kReserved);
}

// Publishes the service so that it remains known after the end of the process,
// as in the process managers that PMI was made for.
pmix_status_t PublishName(const char* service, const char* port) {
  pmix_persistence_t persistence = PMIX_PERSIST_SESSION;
  pmix_info_t infos[2];
  PMIX_INFO_LOAD(&infos[0], service, port, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  const pmix_status_t status = PMIx_Publish(infos, 2);
  PMIX_INFO_DESTRUCT(&infos[0]);
  PMIX_INFO_DESTRUCT(&infos[1]);
  return status;
}

pmix_status_t UnpublishName(const char* service) {
  char* keys[] = {const_cast<char*>(service), nullptr};
  return PMIx_Unpublish(keys, nullptr, 0);
}

std::optional<std::string> LookUpName(const char* service) {
  std::optional<std::string> port;
  (void)LookUp(service, &port);
  return port;
}

bool HasNameService() {
  std::optional<std::string> port;
  return LookUp(kUnknownService, &port) == PMIX_ERR_NOT_FOUND;
}

}  // namespace canopy::pmi
