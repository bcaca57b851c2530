// The decision of a host about a client that is connecting.
#ifndef CANOPY_SERVER_ENDPOINT_NEWCOMER_H_
#define CANOPY_SERVER_ENDPOINT_NEWCOMER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/ids.h"

namespace canopy::endpoint {

// A process that has authenticated itself and has not been accepted yet.
struct Newcomer {
  // For a tool, the name that it claims; an empty namespace requests a name.
  ProcId proc;
  bool is_tool = false;
  uint32_t uid = 0;        // only for a tool
  uint32_t gid = 0;        // only for a tool; UINT32_MAX: unknown
  bool elsewhere = false;  // on another machine
  // A credential by which a tool proves its user to a host that can check it;
  // may be empty. `uid` and `gid` are not taken from it: for a tool on another
  // machine they are those of this process.
  std::string credential = {};
};

// The decision about a newcomer.
struct Verdict {
  int status = 0;  // any status except kSuccess refuses the process
  // The name for a tool that requested one; with an empty namespace, the server
  // chooses.
  ProcId name = {};
  std::string why = {};  // reason of a refusal, for the log; may be empty
};

// Returns the text of a verdict that refuses.
inline std::string TextOf(const Verdict& verdict) {
  return "the host refuses it" +
         (verdict.why.empty() ? std::string() : ": " + verdict.why);
}

// Decides about a newcomer, which waits meanwhile. Calls `done` at most once,
// on the loop's thread, immediately or later, and not after the endpoint is
// destroyed.
using AskAboutNewcomer =
    std::function<void(const Newcomer& who, std::function<void(Verdict)> done)>;

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_NEWCOMER_H_
