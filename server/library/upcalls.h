// Calls of a host's functions that are under way.
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

// What a host answered, whichever callback it has used.
struct HostAnswer {
  struct Found {
    ProcId publisher;
    std::string key;
    Value value;
  };
  int status = 0;
  std::string data;          // of a fence or a direct modex; a credential
  std::string nspace;        // of a spawn
  ProcId proc;               // that a tool is to be
  InfoList infos;            // of a query, ...
  std::vector<Found> found;  // of a lookup
};

// A host calls back in any thread, from within its function or later, also
// after the server's end or a second time: only the first answer of a call that
// is under way counts. A call is known by a number, which is what the host gets
// as its `cbdata`.
//
// One for the process, as the callbacks are plain functions of C.
class Upcalls {
 public:
  using Done = std::function<void(HostAnswer)>;

  static Upcalls& OfProcess();

  // From now on answers are brought to this loop. Loop thread.
  void Open(EventLoop* loop);
  // Nothing is brought to it any more, and what calls were given is freed.
  void Close();

  // Calls `function(cbdata)`, which calls one of the host's. `arguments` stay
  // until the host has answered. `done` runs once on the loop thread in a later
  // round, or never when the server ends before: then it is destroyed, and
  // after the end the host is not called. With a time limit (0: none) it gets
  // kErrTimeout then, and the arguments stay for the host. Loop thread.
  void Call(std::shared_ptr<const void> arguments,
            const std::function<pmix_status_t(void* cbdata)>& function,
            Done done, uint32_t timeout_ms = 0);
  // Has the host's function accept connections of a listening socket, each of
  // which comes to `on_connection` in the loop's thread, until the server ends.
  // False: the host has no such function, or refuses. After Open.
  bool Listen(pmix_server_listener_fn_t function, int listener,
              std::function<void(UniqueFd)> on_connection);

  // What a function that is called for its effect alone gets as its cbdata: its
  // answer, if it comes at all, is nobody's.
  static constexpr void* kForgotten = nullptr;

  // The callbacks for the host.
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
    Done done;  // null: it is too late
  };

  // No effect for a call that has been answered.
  void Finish(void* cbdata, HostAnswer answer);
  void Expire(uintptr_t number);
  void Take(uintptr_t listener, UniqueFd connection);
  // Gives back to the host what its answer was made of.
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
