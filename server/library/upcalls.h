// Pending calls of a host's functions.
#ifndef CANOPY_SERVER_LIBRARY_UPCALLS_H_
#define CANOPY_SERVER_LIBRARY_UPCALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_server.h"

namespace canopy::library {

// The answer of a host: the status, and the results that the callback function
// passes.
struct HostAnswer {
  struct Found {
    ProcId publisher;
    std::string key;
    Value value;
  };
  int status = 0;
  std::string data;          // data of a fence or direct modex; a credential
  std::string nspace;        // the name of a spawned job
  ProcId proc;               // the identity of a tool
  InfoList infos;            // the results of a query and of other calls
  std::vector<Found> found;  // the results of a lookup
};

// A host may call back on any thread, from within its function or later,
// perhaps after the server's end or twice. Only the first answer to a pending
// call is used. The `cbdata` for the host is the call's number.
//
// There is one object for the process, because the callbacks are plain C
// functions.
class Upcalls {
 public:
  using Done = std::function<void(HostAnswer)>;

  static Upcalls& OfProcess();

  // Delivers answers to this loop from now on. Loop thread.
  void Open(EventLoop* loop);
  // Delivers no more answers, and frees the arguments of all calls.
  void Close();

  // Calls `function(cbdata)`, which calls a function of the host. `arguments`
  // live until the host has answered. `done` is called once on the loop thread,
  // in a later round. If the server ends first, `done` is destroyed instead;
  // after the server's end the host is not called. `timeout_ms` is a time limit
  // (0: none); when it has passed, `done` gets kErrTimeout, and the arguments
  // still live until the host has answered. Loop thread.
  void Call(std::shared_ptr<const void> arguments,
            const std::function<pmix_status_t(void* cbdata)>& function,
            Done done, uint32_t timeout_ms = 0);
  // Makes the host's function accept the connections of a listening socket
  // until the server ends. Each connection is passed to `on_connection` on the
  // loop's thread. Returns false if the host has no such function or refuses.
  // Called after Open.
  bool Listen(pmix_server_listener_fn_t function, int listener,
              std::function<void(UniqueFd)> on_connection);

  // The cbdata of a call whose answer is ignored.
  static constexpr void* kForgotten = nullptr;

  // The callback functions that are passed to the host.
  static void OnOp(pmix_status_t status, void* cbdata);
  static void OnModex(pmix_status_t status, const char* data, size_t ndata,
                      void* cbdata, pmix_release_cbfunc_t release,
                      void* release_cbdata);
  static void OnInfos(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                      void* cbdata, pmix_release_cbfunc_t release,
                      void* release_cbdata);
  static void OnLookup(pmix_status_t status, pmix_pdata_t data[], size_t ndata,
                       void* cbdata);
  static void OnSpawn(pmix_status_t status, pmix_nspace_t nspace, void* cbdata);
  static void OnCredential(pmix_status_t status, pmix_byte_object_t* credential,
                           pmix_info_t info[], size_t ninfo, void* cbdata);
  static void OnValidation(pmix_status_t status, pmix_info_t info[],
                           size_t ninfo, void* cbdata);
  static void OnConnection(int connection, void* cbdata);
  static void OnTool(pmix_status_t status, pmix_proc_t* proc, void* cbdata);

 private:
  struct Pending {
    std::shared_ptr<const void> arguments;
    Done done;  // null: the time limit has passed
  };

  // Passes the answer to the call. Has no effect if the call has been answered.
  void Finish(void* cbdata, HostAnswer answer);
  void Expire(uintptr_t number);
  void Take(uintptr_t listener, UniqueFd connection);
  // Releases the memory of the host's answer.
  void Return(pmix_release_cbfunc_t release, void* cbdata);

  Mutex mutex_;
  EventLoop* loop_ CANOPY_GUARDED_BY(mutex_) = nullptr;  // null: closed
  uintptr_t next_ CANOPY_GUARDED_BY(mutex_) = 1;
  std::map<uintptr_t, Pending> pending_ CANOPY_GUARDED_BY(mutex_);
  std::map<uintptr_t, std::function<void(UniqueFd)>> listeners_
      CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_UPCALLS_H_
