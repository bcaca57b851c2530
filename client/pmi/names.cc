#include "client/pmi/names.h"

#include "client/pmi/process.h"

namespace canopy::pmi {

// A service stays known after the end of the process that published it, as
// with the process managers that PMI was made for.
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
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, service);
  std::optional<std::string> port;
  if (PMIx_Lookup(&data, 1, nullptr, 0) == PMIX_SUCCESS) {
    port = TextIn(data.value);
  }
  PMIX_PDATA_DESTRUCT(&data);
  return port;
}

}  // namespace canopy::pmi
