// The functions of libcurl. Only agents of Kubernetes need libcurl, which loads
// about thirty further libraries, so programs do not link it.
#ifndef CANOPY_SERVER_KUBERNETES_API_CURL_LIBRARY_H_
#define CANOPY_SERVER_KUBERNETES_API_CURL_LIBRARY_H_

#include <curl/curl.h>

namespace canopy::kubernetes {

struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
};

// Loads and initializes libcurl at the first call. Returns null if there is
// none. Any thread.
const CurlLibrary* LoadedCurl();

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_CURL_LIBRARY_H_
