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
      {"help h", 0, "", "print this help", cli::SetFlag(&to->help), true},
      {"verbose v", 0, "", "report the server that the tool has connected to",
       cli::SetFlag(&to->verbose)},
      {"version V", 0, "", "print the version", cli::SetFlag(&to->version),
       true},
      {"uri", 1, "URI", "connect to this URI, or to the URI in file:PATH",
       cli::SetText(&to->uri)},
      {"namespace nspace", 1, "NAME", "connect to the server of this namespace",
       cli::SetText(&to->nspace)},
      {"pid", 1, "PID", "connect to the server with this PID, or file:PATH",
       SetPid(&to->pid)},
      {"system-server-first", 0, "", "prefer the system server if there is one",
       cli::SetFlag(&to->system_first)},
      {"system-server system-server-only", 0, "",
       "connect only to the system server", cli::SetFlag(&to->only_system)},
      {"do-not-connect", 0, "", "do not connect to a server",
       cli::SetFlag(&to->no_server)},
      {"tmpdir", 1, "DIR", "search for servers below this directory",
       cli::SetText(&to->directory)},
      {"wait-to-connect", 1, "SECONDS", "time between two attempts to connect",
       cli::SetSeconds(&to->delay_s, 1, kMaxWait)},
      {"num-connect-retries", 1, "N",
       "maximum number of further attempts to connect",
       cli::SetNumber(&to->retries, 0, kMaxWait)},
      Refused("system-controller", 0, "an overlay has no such process"),
      Refused("scheduler", 0, "agents ask it"),
      Refused("connect-order", 1, "see --system-server-first"),
      Refused("pmixmca", 2, "there are no such parameters"),
  };
}

}  // namespace canopy::tools
