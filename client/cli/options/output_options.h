// Options of `canopy run` whose value is a list of words: what is displayed,
// and what becomes of the output.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_

#include "client/cli/options/option_parser.h"
#include "client/cli/options/run_options.h"

namespace canopy::cli {

// `to` outlives the results.

// "map", "allocation" (or "alloc"), "bindings" (or "bind"), with commas.
Option::Apply SetDisplay(RunOptions* to);
// "tag", "timestamp", "merge", "dir=DIR", with commas.
Option::Apply SetOutput(RunOptions* to);
// DIR, or DIR:nocopy, DIR:nojobid, DIR:nocopy,nojobid.
Option::Apply SetOutputDirectory(RunOptions* to);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_
