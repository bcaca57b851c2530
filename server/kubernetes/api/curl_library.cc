#include "server/kubernetes/api/curl_library.h"

#include <dlfcn.h>

namespace canopy::kubernetes {
namespace {

// Finds functions, and records whether one was missing.
struct FunctionFinder {
  void* library;
  bool is_complete = true;

  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    is_complete = is_complete && *function != nullptr;
  }
};

bool FindFunctions(void* library, CurlLibrary* curl) {
  FunctionFinder finder{library};
  finder.Find("curl_easy_init", &curl->easy_init);
  finder.Find("curl_easy_cleanup", &curl->easy_cleanup);
  finder.Find("curl_easy_setopt", &curl->easy_setopt);
  finder.Find("curl_easy_getinfo", &curl->easy_getinfo);
  finder.Find("curl_easy_strerror", &curl->easy_strerror);
  finder.Find("curl_slist_append", &curl->slist_append);
  finder.Find("curl_slist_free_all", &curl->slist_free_all);
  finder.Find("curl_multi_init", &curl->multi_init);
  finder.Find("curl_multi_cleanup", &curl->multi_cleanup);
  finder.Find("curl_multi_setopt", &curl->multi_setopt);
  finder.Find("curl_multi_add_handle", &curl->multi_add_handle);
  finder.Find("curl_multi_remove_handle", &curl->multi_remove_handle);
  finder.Find("curl_multi_socket_action", &curl->multi_socket_action);
  finder.Find("curl_multi_info_read", &curl->multi_info_read);
  return finder.is_complete;
}

const CurlLibrary* Load() {
  static CurlLibrary curl;
  void* library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr || !FindFunctions(library, &curl)) return nullptr;
  decltype(&::curl_global_init) initialize = nullptr;
  FunctionFinder finder{library};
  finder.Find("curl_global_init", &initialize);
  if (!finder.is_complete) return nullptr;
  return initialize(CURL_GLOBAL_DEFAULT) == CURLE_OK ? &curl : nullptr;
}

}  // namespace

const CurlLibrary* LoadedCurl() {
  static const CurlLibrary* const curl = Load();
  return curl;
}

}  // namespace canopy::kubernetes
