#include "client/tools/server_options.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::tools {
namespace {

constexpr uint32_t kMaxPid = 1u << 22;
constexpr uint32_t kMaxWait = 3600;

// Parses a number, or "file:PATH" of a file with the number.
cli::Option::Apply SetPid(uint32_t* to) {
  return [to](const cli::TypedOption& typed) {
    constexpr std::string_view kFile = "file:";
    std::string text = typed.values[0];
    if (text.starts_with(kFile)) {
      std::ifstream in(text.substr(kFile.size()));
      std::getline(in, text);
    }
    const auto pid = ParseNumber(Trim(text), kMaxPid);
    if (!pid || *pid == 0) {
      return cli::WrongValue(typed, "the number of a process, or file:PATH");
    }
    *to = *pid;
    return Status();
  };
}

}  // namespace

cli::Option Refused(std::string_view names, int num_values, std::string why) {
  return {names, num_values, "", "",
          [why = std::move(why)](const cli::TypedOption& typed) {
            return Status(kErrNotSupported, "option '" + typed.name +
                                                "' has no effect here: " + why);
          }};
}

cli::OptionTable ServerOptionTable(ServerOptions* to) {
  return {
      {"help h", 0, "", "print this text", cli::SetFlag(&to->help), true},
      {"verbose v", 0, "", "tell which server it is",
       cli::SetFlag(&to->verbose)},
      {"version V", 0, "", "print the version", cli::SetFlag(&to->version),
       true},
      {"uri", 1, "URI", "the server with this URI, or file:PATH that has it",
       cli::SetText(&to->uri)},
      {"namespace nspace", 1, "NAME", "the server of this namespace",
       cli::SetText(&to->nspace)},
      {"pid", 1, "PID", "the server that is this process, or file:PATH",
       SetPid(&to->pid)},
      {"system-server-first", 0, "", "the system's server, if there is one",
       cli::SetFlag(&to->system_first)},
      {"system-server system-server-only", 0, "",
       "the system's server and no other", cli::SetFlag(&to->only_system)},
      {"do-not-connect", 0, "", "no server", cli::SetFlag(&to->no_server)},
      {"tmpdir", 1, "DIR", "look for servers below this directory",
       cli::SetText(&to->directory)},
      {"wait-to-connect", 1, "SECONDS", "between two attempts to connect",
       cli::SetNumber(&to->delay_s, 1, kMaxWait)},
      {"num-connect-retries", 1, "N", "how often to try again",
       cli::SetNumber(&to->retries, 0, kMaxWait)},
      Refused("system-controller", 0, "an overlay has no such process"),
      Refused("scheduler", 0, "agents ask it"),
      Refused("connect-order", 1, "see --system-server-first"),
      Refused("pmixmca", 2, "there are no such parameters"),
  };
}

}  // namespace canopy::tools
