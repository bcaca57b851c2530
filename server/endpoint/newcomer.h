// A say in who is served, for whoever runs a server beside its endpoints.
#ifndef CANOPY_SERVER_ENDPOINT_NEWCOMER_H_
#define CANOPY_SERVER_ENDPOINT_NEWCOMER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/ids.h"

namespace canopy::endpoint {

// A process that has proved who it is, and has had no welcome yet.
struct Newcomer {
  // Of a tool, as it names itself; an empty namespace: it wants a name.
  ProcId proc;
  bool is_tool = false;
  uint32_t uid = 0;        // of a tool
  uint32_t gid = 0;        // the same; UINT32_MAX: nobody knows
  bool elsewhere = false;  // on another machine
  // What a tool says to prove its user to a host that can tell; the user above
  // is the kernel's word, with or without it. Empty: nothing.
  std::string credential = {};
};

struct Verdict {
  int status = 0;  // another than kSuccess refuses it
  // Of a tool that wants a name; an empty namespace: the server finds one.
  ProcId name = {};
  std::string why = {};  // it is refused, for the log; may be empty
};

// Of one that refuses.
inline std::string TextOf(const Verdict& verdict) {
  return "the host refuses it" +
         (verdict.why.empty() ? std::string() : ": " + verdict.why);
}

// Decides about a newcomer, which waits. Calls `done` at most once, in the
// loop's thread, at once or later, and not when the endpoint is gone.
using AskAboutNewcomer =
    std::function<void(const Newcomer& who, std::function<void(Verdict)> done)>;

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_NEWCOMER_H_
